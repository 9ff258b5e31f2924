"""Checks that an exported file computes the same numbers as Keras, up to rounding."""

import dataclasses
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml._backend import keras
from keras_dml._typing import Path
from keras_dml.distances import Distance

if TYPE_CHECKING:
    from keras_dml.export.trials import Trials
    from keras_dml.models import PrototypicalClassifier


@dataclasses.dataclass(frozen=True)
class Bounds:
    """Largest differences from Keras that are allowed for a file format.

    Attributes:
        embedding: Root mean square (RMS) difference between embeddings, divided by the RMS of
            Keras's embeddings.
        distance: Largest difference between the distances that the file and Keras compute from the
            same embeddings, divided by the largest distance.
        similarity: Largest difference between the learned similarities that the file and Keras
            compute from the same embeddings, divided by the largest similarity. The file format
            rounds the weights of the similarity and the weights of the encoder in the same way.
    """

    embedding: float
    distance: float
    similarity: float = 0.0


# The bounds are about twice the differences that we measured on trained encoders of this package.
# For gait, embeddings differed by 0.0017 (float16), 0.048 (dynamic) and 0.10 (int8), and the AUC
# changed by at most .001. For comparison, a wrong slice or lost weights give a difference of 1. For
# LeNets, similarities differed by 8e-7 (float32), 4e-5 (float16), 2e-3 to 6e-3 (dynamic) and 4e-5
# (int8). A similarity that is computed in int8 differed by 5e-2. Between float32 and float64, most
# embeddings differ by 1e-6. Discriminant analysis of eye movements (2,350 steps) gives embeddings
# that differ by 4e-5, in Keras and in LiteRT.
BOUNDS: dict[str | None, Bounds] = {
    None: Bounds(1e-4, 1e-5, 1e-4),
    "float16": Bounds(5e-3, 1e-5, 5e-3),
    "dynamic": Bounds(1e-1, 1e-5, 3e-2),
    "int8": Bounds(2e-1, 1e-5, 1e-2),
}
# Bounds for models that take matrices. Logarithms of singular matrices lose digits, which gives a
# difference of 2e-4 with 93 channels and 12 steps. Weights of 16 bits give a difference of 9e-4.
# Weights of 8 bits give a difference of 0.4, because they lose the small eigenvalues.
BOUNDS_ON_MATRICES: dict[str | None, Bounds] = {
    None: Bounds(1e-3, 1e-5, 1e-4),
    "float16": Bounds(5e-3, 1e-5, 5e-3),
}


class ParityError(ValueError):
    """Error for an exported file that does not agree with Keras and is therefore not written.

    Attributes:
        reason: Text that describes the difference.
    """

    reason = ""


def check(
    file: Path,
    functions: dict[str, Callable[..., Any]],
    trials: "Trials",
    metric: Distance,
    bounds: Bounds,
    classifier: "PrototypicalClassifier | None" = None,
    covariances: keras.Model | None = None,
) -> float:
    """Checks all signatures of a file and returns the drift of its embeddings.

    Args:
        file: Path of the file, for error messages.
        functions: Dict from the names of signatures to functions that call them. `embed`,
            `classify` and `covariance` receive recordings, and `distance` and `score` receive two
            sets of embeddings.
        trials: `Trials` with recordings and their embeddings by Keras.
        metric: Distance between embeddings.
        bounds: `Bounds` for the differences between the file and Keras.
        classifier: `PrototypicalClassifier` if the file has the signatures `score` and `classify`,
            or None if the file does not have them.
        covariances: Model that computes covariances if the file has the signature `covariance`, or
            None if the file does not have it.

    Returns:
        RMS difference between embeddings of typical recordings, divided by the RMS of Keras's
        embeddings.

    Raises:
        ParityError: If a signature returns NaN, or if its difference from Keras exceeds the bound.
    """
    embeddings = functions["embed"](trials.recordings)
    drift = check_embeddings(file, embeddings, trials, metric, bounds.embedding)
    z = gallery(embeddings, metric)
    bound = bounds.similarity if metric.is_learned else bounds.distance
    bound = max(bound, metric.device_tolerance)
    # The distances of one row are more accurate than the distances of many rows.
    expected = np.concatenate([keras.ops.convert_to_numpy(metric(row[None], z)) for row in z])
    check_numbers(file, "distances", functions["distance"](z, z), expected, bound)
    if classifier is not None:
        expected, bound = classifier.similarity(z, z), bounds.similarity
        check_numbers(file, "similarities", functions["score"](z, z), expected, bound)
        # The expected scores are computed from the embeddings of the file, because the drift
        # already compares embeddings.
        expected = np.asarray(classifier.head_scores(embeddings))
        check_numbers(file, "scores", functions["classify"](trials.recordings), expected, bound)
    if covariances is not None:
        batches = [np.asarray(recording, np.float32)[None] for recording in trials.recordings]
        expected = [covariances(batch, training=False) for batch in batches]
        expected = np.concatenate([keras.ops.convert_to_numpy(each) for each in expected])
        actual = functions["covariance"](trials.recordings)
        check_numbers(file, "covariances", actual, expected, bounds.embedding)
    return drift


def check_invalid(file: Path, functions: dict[str, Callable[..., Any]], trials: "Trials") -> None:
    """Checks that a file returns NaN for an input that holds NaN, and for an embedding of NaN.

    Args:
        file: Path of the file, for error messages.
        functions: Functions that call the signatures `embed` and `distance`, as in `check`.
        trials: `Trials` with recordings and their embeddings.

    Raises:
        ParityError: If an embedding or a distance holds a number instead of NaN, or if the distance
            to another row of the gallery is NaN.
    """
    recording = np.array(trials.recordings[0], np.float32)
    recording[len(recording) // 2] = np.nan
    embedding = functions["embed"]([recording])
    if not np.isnan(embedding).all():
        raise _parity_error(file, "the embedding of a recording that holds NaN is not NaN")
    z = np.concatenate([trials.embeddings[:1].astype(np.float32), embedding])
    if np.isnan(functions["distance"](z, z)).tolist() != [[False, True], [True, True]]:
        raise _parity_error(file, "its distances are not NaN for exactly the embeddings of NaN")


def check_embeddings(
    file: Path, embeddings: np.ndarray, trials: "Trials", metric: Distance, bound: float
) -> float:
    """Compares the embeddings of a file with those of Keras, and returns the drift of the file.

    Args:
        file: Path of the file, for error messages.
        embeddings: Embeddings that the file computed, in the order of `trials.recordings`.
        trials: `Trials` with recordings and their embeddings by Keras.
        metric: Distance between embeddings.
        bound: Largest allowed drift.

    Returns:
        RMS difference between embeddings of typical recordings, divided by the RMS of Keras's
        embeddings.

    Raises:
        ParityError: If an embedding holds NaN, if the knots of quantile functions differ, or if the
            drift exceeds the bound.
    """
    expected = trials.embeddings
    invalid = [i for i, embedding in enumerate(embeddings) if not np.isfinite(embedding).all()]
    if invalid:
        example = np.asarray(trials.recordings[invalid[0]])
        raise _parity_error(
            file,
            f"{len(invalid)} of {len(expected)} trial recordings have an embedding that holds NaN "
            "or infinity in the file but not in Keras, for example an array of "
            f"{'numbers' if example.any() else 'zeros'} of shape {example.shape}",
        )
    try:
        metric.check_same(embeddings, expected)
    except ValueError as error:
        raise _parity_error(file, error) from None
    drift = relative_rms(embeddings[: trials.typical], expected[: trials.typical])
    if not drift <= bound:
        reason = f"its embeddings drift by {drift:.2g} of their RMS, which is more than {bound}"
        raise _parity_error(file, reason)
    return drift


def check_numbers(
    file: Path, name: str, actual: np.ndarray, expected: np.ndarray, bound: float
) -> None:
    """Checks the distances or scores that a file computes from embeddings.

    Args:
        file: Path of the file, for error messages.
        name: Name of the numbers, for error messages.
        actual: Numbers that the file computed.
        expected: Correct numbers, same shape as `actual`.
        bound: Largest allowed difference, divided by the largest expected number.

    Raises:
        ParityError: If a number is NaN or infinite, or if a difference exceeds the bound.
    """
    expected = keras.ops.convert_to_numpy(expected)
    if not np.isfinite(actual).all():
        raise _parity_error(file, f"the {name} that the file computes hold NaN or infinity")
    difference = np.abs(actual - expected).max() / max(
        np.abs(expected).max(), np.finfo(np.float32).tiny
    )
    if not difference <= bound:
        reason = (
            f"the {name} that the file computes differ by {difference:.2g} of the largest value, "
            f"which is more than {bound}"
        )
        raise _parity_error(file, reason)


def gallery(embeddings: np.ndarray, metric: Distance) -> np.ndarray:
    """Appends the embedding for which a distance is least accurate, so that a check covers it.

    The method `metric.degenerate` returns this embedding.

    Args:
        embeddings: Embeddings, shape `(n, ...)`.
        metric: Distance between the embeddings.

    Raises:
        ValueError: If the distance is undefined for `metric.degenerate`.
    """
    hardest = np.asarray(metric.degenerate(embeddings[0]))
    if hardest.shape != embeddings[0].shape:
        raise ValueError(
            f"The shape of {_degenerate(metric)} is {hardest.shape}, but it must be the shape of "
            f"an embedding, {embeddings[0].shape}."
        )
    z = np.concatenate([embeddings, hardest[None].astype(embeddings.dtype)])
    failure = _failure(metric, z)
    if failure is not None and _failure(metric, embeddings) is None:
        raise ValueError(
            f"The distance {type(metric).__name__} {failure} for {_degenerate(metric)}. An export "
            "compares the file with Keras on this embedding. Override the method "
            "`degenerate(like)` of the distance. The method must return a valid embedding of the "
            "shape of the others. For this embedding, the distance must be finite, and rounding "
            "errors must be largest. For SPD matrices, the method returns the identity matrix."
        )
    return z


def _degenerate(metric):
    """Describes, for error messages, which embedding makes a distance least accurate."""
    if type(metric).degenerate is Distance.degenerate:
        return "the embedding of zeros, which `Distance.degenerate` returns"
    return f"the embedding that `{type(metric).__name__}.degenerate` returns"


def _failure(metric, embeddings):
    """Describes why distances cannot be computed, or returns None if all distances are finite."""
    try:
        distances = keras.ops.convert_to_numpy(metric(embeddings, embeddings))
    except Exception as error:  # `pairwise` of a user may raise any error of the backend
        return f"raises {type(error).__name__}"
    return None if np.isfinite(distances).all() else "is NaN or infinite"


def relative_rms(actual: np.ndarray, expected: np.ndarray) -> float:
    """Computes the RMS difference between two arrays, divided by the RMS of the second array."""
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    scale = np.sqrt(np.mean(expected**2))
    return float(np.sqrt(np.mean((actual - expected) ** 2)) / (scale or 1.0))


def _parity_error(file, reason):
    name = pathlib.Path(file).name
    error = ParityError(f"{name} does not agree with Keras: {reason}. Nothing was written.")
    error.reason = str(reason)
    return error
