"""Base class of the losses on all distances of a batch."""

from keras_dml import distances
from keras_dml._backend import ops
from keras_dml.losses._labeled import LabeledLoss
from keras_dml.losses.pairs import class_ids

MAX_DISTANCE = 1e15  # infinity times a gradient of 0 is NaN; float32 holds the square of this


class DistanceMatrixLoss(LabeledLoss):
    """A loss of the distances between all rows of a batch; subclasses give `values`.

    Labels are class ids, shape `(batch,)`, in any number and order; predictions are embeddings that
    the distance takes; distances beyond 1e15 count as 1e15, without a gradient. An anchor without a
    valid pair pays nothing, unless the subclass says otherwise. One with a NaN among its distances
    has the value NaN. A label that is not an id is refused, in a compiled step by an error of the
    backend; where XLA compiles the step on TensorFlow its anchor has the value NaN.

    Args:
        distance: Name of a distance, or an object `d(x, y) -> (n, m)`.
        name: Name of the loss.
        dtype: See `keras.losses.Loss`; widened to float32.
        **kwargs: See `reduction` of `keras.losses.Loss`.
    """

    def __init__(self, distance, *, name, dtype=None, **kwargs):
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.distance = distances.get(distance)

    def call(self, y_true, y_pred):
        labels = class_ids(y_true)
        matrix = self.distance_matrix(y_pred)
        values = self.values(labels, matrix, y_pred)
        sums = ops.sum(ops.stop_gradient(matrix), axis=1)
        lost = ops.logical_or(ops.isnan(sums), labels < 0)
        return ops.where(lost, float("nan"), values)

    def distance_matrix(self, embeddings):
        """Distances between all rows, or their squares where a subclass compares these, shape
        `(batch, batch)`."""
        return ops.minimum(self.distance(embeddings, embeddings), MAX_DISTANCE)

    def values(self, labels, distances, embeddings):
        """Computes one value per anchor.

        Args:
            labels: Class ids, int32, shape `(batch,)`; -1 is none.
            distances: Result of `distance_matrix`.
            embeddings: Embeddings, shape `(batch, ...)`.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no method `values(labels, distances, embeddings)`. It "
            "returns one value per anchor, shape (batch,)."
        )


def mean_of_terms(sums, counts):
    """Scales anchors' sums so that their mean is the mean of all terms of the batch.

    Args:
        sums: Sum of an anchor's terms, shape `(batch,)`.
        counts: Number of an anchor's terms, shape `(batch,)`.
    """
    rows = ops.cast(ops.shape(sums)[0], sums.dtype)
    return sums * (rows / ops.maximum(ops.sum(counts), 1))
