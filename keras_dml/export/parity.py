"""Whether an exported file gives the numbers that Keras gives."""

import dataclasses
import pathlib

import numpy as np

from keras_dml._backend import keras
from keras_dml.distances import Distance


@dataclasses.dataclass(frozen=True)
class Bounds:
    """Largest differences from Keras that a format may have.

    Attributes:
        embedding: RMS difference of embeddings, as a fraction of the RMS of Keras's.
        distance: Largest difference of distances of the same embeddings, as a fraction of the
            largest distance.
        similarity: The same of a learned similarity, whose weights are rounded like the encoder's.
    """

    embedding: float
    distance: float
    similarity: float = 0.0


# About twice what trained encoders of this package measured (gait: 0.0017, 0.048 and 0.10, with
# changes in AUC of .001 and less); a wrong slice or lost weights make 1. Similarities of LeNets
# measured 8e-7, 4e-5, 2e-3 to 6e-3 and 4e-5; one that is int8 itself 5e-2. In float32
# discriminants of 2,350 steps (eyes) are 4e-5 from float64, by Keras as by LiteRT; others 1e-6.
BOUNDS = {
    None: Bounds(1e-4, 1e-5, 1e-4),
    "float16": Bounds(5e-3, 1e-5, 5e-3),
    "dynamic": Bounds(1e-1, 1e-5, 3e-2),
    "int8": Bounds(2e-1, 1e-5, 1e-2),
}
# Of models on matrices: logarithms of singular ones lose digits (93 channels of 12 steps: 2e-4), as
# do kernels of 16 bits (9e-4); with 8 bits the small eigenvalues are gone (0.4).
BOUNDS_ON_MATRICES = {
    None: Bounds(1e-3, 1e-5, 1e-4),
    "float16": Bounds(5e-3, 1e-5, 5e-3),
}


class ParityError(ValueError):
    """An exported file does not agree with Keras, so it is not kept.

    Attributes:
        reason: The difference, in words.
    """

    reason = ""


def check(file, ask, trials, metric, bounds, classifier=None):
    """Drift of a file's embeddings, after a check of each of its signatures.

    Args:
        file: Path, for messages.
        ask: Dict from the name of a signature to a function that asks the file: `embed` and
            `classify` of recordings, `distance` and `score` of two sets of embeddings.
        trials: Recordings with Keras's embeddings.
        metric: The distance of the embeddings.
        bounds: `Bounds`.
        classifier: The `PrototypicalClassifier` whose signatures the file has too; None: none.

    Returns:
        RMS difference over the typical recordings, as a fraction of the RMS of Keras's embeddings.

    Raises:
        ParityError: If a signature gives NaN or is beyond its bound.
    """
    embeddings = ask["embed"](trials.recordings)
    drift = check_embeddings(file, embeddings, trials, metric, bounds.embedding)
    tried = gallery(embeddings, metric)
    bound = bounds.similarity if metric.is_learned else bounds.distance
    bound = max(bound, metric.device_tolerance)
    check_numbers(file, "distances", ask["distance"](tried, tried), metric(tried, tried), bound)
    if classifier is not None:
        expected = classifier.similarity(tried, tried)
        bound = bounds.similarity
        check_numbers(file, "similarities", ask["score"](tried, tried), expected, bound)
        # The drift compares embeddings; scores are those of the file's own embeddings.
        expected = np.asarray(classifier.head_scores(embeddings))
        check_numbers(file, "scores", ask["classify"](trials.recordings), expected, bound)
    return drift


def check_embeddings(file, embeddings, trials, metric, bound):
    """Drift of a file's embeddings, after a check against Keras's.

    Args:
        file: Path, for messages.
        embeddings: The file's, in the order of `trials.recordings`.
        trials: Recordings with Keras's embeddings.
        metric: The distance of the embeddings.
        bound: Largest drift.

    Returns:
        RMS difference over the typical recordings, as a fraction of the RMS of Keras's embeddings.

    Raises:
        ParityError: If there is a NaN, knots moved, or the drift is beyond the bound.
    """
    expected = trials.embeddings
    wrong = [i for i, one in enumerate(embeddings) if not np.isfinite(one).all()]
    if wrong:
        raise _refusal(
            file,
            f"the embeddings of {len(wrong)} of {len(expected)} trial recordings hold NaN or "
            "infinity",
        )
    try:
        metric.check_same(embeddings, expected)
    except ValueError as error:
        raise _refusal(file, error) from None
    drift = relative_rms(embeddings[: trials.typical], expected[: trials.typical])
    if not drift <= bound:
        raise _refusal(file, f"its embeddings drift by {drift:.2g} of their RMS, more than {bound}")
    return drift


def check_numbers(file, what, found, expected, bound):
    """Refuses a file whose distances, or scores, of given embeddings are not what they should be.

    Args:
        file: Path, for messages.
        what: Name of the numbers, for messages.
        found: The file's.
        expected: What they should be, same shape.
        bound: Largest difference, as a fraction of the largest of the expected numbers.

    Raises:
        ParityError: If there is a NaN, or a number, such as the distance of an embedding to itself,
            is beyond the bound.
    """
    expected = keras.ops.convert_to_numpy(expected)
    if not np.isfinite(found).all():
        raise _refusal(file, f"its {what} hold NaN or infinity")
    difference = np.abs(found - expected).max() / max(
        np.abs(expected).max(), np.finfo(np.float32).tiny
    )
    if not difference <= bound:
        raise _refusal(
            file, f"its {what} differ by {difference:.2g} of the largest, more than {bound}"
        )


def gallery(embeddings, metric):
    """Embeddings to try distances on: the given ones, and one where quotients are hardest.

    Raises:
        ValueError: If the distance is undefined for its degenerate embedding.
    """
    hardest = np.asarray(metric.degenerate(embeddings[0]))
    if hardest.shape != embeddings[0].shape:
        raise ValueError(
            f"{_degenerate(metric)} must have the shape of an embedding, {embeddings[0].shape}. "
            f"Received shape {hardest.shape}."
        )
    tried = np.concatenate([embeddings, hardest[None].astype(embeddings.dtype)])
    outcome = _outcome(metric, tried)
    if outcome is not None and _outcome(metric, embeddings) is None:
        raise ValueError(
            f"The distance {type(metric).__name__} {outcome} for {_degenerate(metric)}, on which "
            "an export compares the file with Keras. Override `degenerate(like)` so that it "
            "returns a valid embedding of the shape of `like` for which the distance is finite "
            "and hardest to compute, such as the identity for SPD matrices."
        )
    return tried


def _degenerate(metric):
    """Describes the degenerate embedding of a distance, for messages."""
    if type(metric).degenerate is Distance.degenerate:
        return "the embedding of zeros, which `Distance.degenerate` returns"
    return f"the embedding that `{type(metric).__name__}.degenerate` returns"


def _outcome(metric, embeddings):
    """Describes how the distances of embeddings fail; None if they are finite."""
    try:
        distances = keras.ops.convert_to_numpy(metric(embeddings, embeddings))
    except Exception as error:  # whatever the backend raises within somebody's `pairwise`
        return f"raises {type(error).__name__}"
    return None if np.isfinite(distances).all() else "is NaN or infinite"


def relative_rms(found, expected):
    """RMS of the difference of two arrays, as a fraction of the RMS of the second."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    scale = np.sqrt(np.mean(expected**2))
    return float(np.sqrt(np.mean((found - expected) ** 2)) / (scale or 1.0))


def _refusal(file, what):
    name = pathlib.Path(file).name
    error = ParityError(f"{name} does not agree with Keras: {what}. Nothing was written.")
    error.reason = str(what)
    return error
