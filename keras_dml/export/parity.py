"""Whether an exported file answers what Keras answers."""

import dataclasses
import pathlib

import numpy as np

from keras_dml import distances
from keras_dml._keras import keras


@dataclasses.dataclass(frozen=True)
class Bounds:
    """Greatest differences from Keras that a format may have.

    Attributes:
        embedding: RMS difference of embeddings, as a share of the RMS of Keras's.
        distance: Greatest difference of distances of the same embeddings, as a share of the
            greatest distance.
    """

    embedding: float
    distance: float


# Distances of positive definite matrices.
OF_MATRICES = (distances.AffineInvariant, distances.LogEuclidean, distances.Stein)

# About twice what trained encoders of this package measured (gait: 0.0017, 0.048 and 0.10, with
# changes in AUC of .001 and less); a wrong slice or lost weights make 1.
BOUNDS = {
    None: Bounds(1e-5, 1e-5),
    "float16": Bounds(5e-3, 1e-5),
    "dynamic": Bounds(1e-1, 1e-5),
    "int8": Bounds(2e-1, 1e-5),
}
# Of models on matrices: logarithms of singular ones lose digits (93 channels of 12 steps: 2e-4), as
# do kernels of 16 bits (9e-4); with 8 bits the small eigenvalues are gone (0.4).
BOUNDS_ON_MATRICES = {
    None: Bounds(1e-3, 1e-5),
    "float16": Bounds(5e-3, 1e-5),
}


class ParityError(ValueError):
    """An exported file answers otherwise than Keras, so it is not kept."""


def check_embeddings(file, embeddings, trials, metric, bound):
    """Drift of a file's embeddings, after a check against Keras's.

    Args:
        file: Path, for messages.
        embeddings: The file's, in the order of `trials.recordings`.
        trials: Recordings with Keras's embeddings.
        metric: The distance of the embeddings.
        bound: Greatest drift.

    Returns:
        RMS difference over the typical recordings, as a share of the RMS of Keras's embeddings.

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
    if isinstance(metric, distances.Wasserstein):
        moved = np.abs(embeddings[:, -1] - expected[:, -1]).max()
        if moved > distances.SAME_KNOTS:
            raise _refusal(
                file, f"its knots are off by {moved:.2g}, more than {distances.SAME_KNOTS}"
            )
    drift = relative_rms(embeddings[: trials.typical], expected[: trials.typical])
    if not drift <= bound:
        raise _refusal(file, f"its embeddings drift by {drift:.2g} of their RMS, more than {bound}")
    return drift


def check_distances(file, found, embeddings, metric, bound):
    """Refuses a file whose distances of given embeddings are not the metric's.

    Args:
        file: Path, for messages.
        found: The file's distances of `embeddings` to themselves, shape `(n, n)`.
        embeddings: Embeddings, shape `(n, ...)`; see `gallery`.
        metric: The distance.
        bound: Greatest difference, as a share of the greatest distance.

    Raises:
        ParityError: If there is a NaN, or a distance, of an embedding with itself too, is beyond
            the bound.
    """
    expected = keras.ops.convert_to_numpy(metric(embeddings, embeddings))
    if not np.isfinite(found).all():
        raise _refusal(file, "its distances hold NaN or infinity")
    difference = np.abs(found - expected).max() / max(
        np.abs(expected).max(), np.finfo(np.float32).tiny
    )
    if difference > bound:
        raise _refusal(
            file, f"its distances differ by {difference:.2g} of the greatest, more than {bound}"
        )


def gallery(embeddings, metric):
    """Embeddings to try distances on: the given ones, and one that is all zero, where quotients are
    hard, or the identity where zero is no embedding."""
    nothing = np.zeros_like(embeddings[:1])
    if isinstance(metric, OF_MATRICES):
        nothing += np.eye(nothing.shape[-1], dtype=nothing.dtype)
    if isinstance(metric, distances.Wasserstein):
        nothing[:, -1] = embeddings[:1, -1]  # the knots
    return np.concatenate([embeddings, nothing])


def relative_rms(found, expected):
    """RMS of the difference of two arrays, as a share of the RMS of the second."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    scale = np.sqrt(np.mean(expected**2))
    return float(np.sqrt(np.mean((found - expected) ** 2)) / (scale or 1.0))


def _refusal(file, what):
    name = pathlib.Path(file).name
    return ParityError(f"{name} does not answer as Keras does: {what}. Nothing was written.")
