"""Layer with one Riemannian potato per class. A Riemannian potato is an outlier detector for SPD
matrices."""

import numbers
from typing import Any

import numpy as np

from keras_dml._arrays import real
from keras_dml._backend import keras, ops
from keras_dml._backend.replicas import gathered
from keras_dml._typing import ArrayLike, Tensor
from keras_dml.geometry import potato_scores
from keras_dml.geometry.spd import potato
from keras_dml.labels import checked_labels
from keras_dml.layers.matrices import MatrixLayer, compiles


@keras.saving.register_keras_serializable(package="keras_dml")
class ClassPotatoes(MatrixLayer):
    """z-scores that the Riemannian potato of each class computes for positive definite matrices
    (Kim2020, Eq. 6).

    A Riemannian potato is an outlier detector for one class. The potato stores the center of the
    class. The potato also stores the mean `log_mu` and the standard deviation `log_sigma` of the
    logarithmic affine-invariant distances between the center and the matrices of the class. The
    score of a matrix is the number of standard deviations by which the logarithmic distance between
    the matrix and the center exceeds the mean. Center, mean and standard deviation are weights, so
    they are saved with a model. But no optimizer trains the center, the mean or the standard
    deviation. The method `calibrate` measures center, mean and standard deviation. The method
    `update` changes center, mean and standard deviation. `keras_dml.models.PotatoNetwork` calls
    `calibrate` and `update` while it trains an encoder.

    Input shape: `(batch, n, n)`, positive definite. Output shape: `(batch, classes)`. The output
    has the dtype float32 or wider under any dtype policy. Scores are NaN for a class that is not
    calibrated.

    Args:
        classes: Number of classes. Labels are 0 to `classes - 1`.
        update_rate: Weight of a new matrix in the statistics, from 0 to 1 (beta_delta in Kim2020).
            The default, as in the paper, is 1 divided by the number of matrices so far, including
            the matrices of the calibration. With the default rate, the statistics converge as
            matrices are added. Values from 0.01 to 0.05 let the statistics follow a network that
            changes during training.

    Raises:
        ValueError: If `classes` is not a positive integer, if `update_rate` is not between 0 and 1,
            or if the matrices are not square.

    Example:
        >>> layer = ClassPotatoes(classes=1)
        >>> layer.calibrate(np.array([[[1.0]], [[1.0]], [[4.0]]]), np.array([0, 0, 0]))
        >>> layer(np.array([[[1.0]], [[16.0]]])).numpy().round(2)
        array([[-0.71],
               [ 4.22]], dtype=float32)
    """

    def __init__(self, classes: int, *, update_rate: float | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        if not isinstance(classes, numbers.Integral) or classes < 1:
            raise ValueError(
                f"`classes` must be a whole number of at least 1. Received classes={classes!r}."
            )
        self.classes = int(classes)
        self.update_rate = potato_scores.check_update_rate(update_rate)
        self.supports_jit = compiles("eigh")

    def build(self, input_shape: tuple[Any, ...]) -> None:
        super().build(input_shape)
        if len(input_shape) != 3:
            raise ValueError(
                "ClassPotatoes needs one matrix per row, shape (batch, n, n). Received shape "
                f"{tuple(input_shape)}."
            )
        n = input_shape[-1]
        # Every replica gathers the rows of all replicas and computes the same update.
        fixed = {"trainable": False, "aggregation": "only_first_replica"}
        self.center = self.add_weight(
            name="center", shape=(self.classes, n, n), initializer=_identities, **fixed
        )
        self.log_mu, self.log_sigma, self.count = (
            self.add_weight(name=name, shape=(self.classes,), initializer="zeros", **fixed)
            for name in ("log_mu", "log_sigma", "count")
        )

    def call(self, inputs: Tensor) -> Tensor:
        classes = ops.arange(self.classes, dtype="int32")
        return self.scores(self.log_distances(inputs, classes), classes)

    def log_distances(self, x: Tensor, classes: Tensor) -> Tensor:
        """Computes the logarithmic distances between matrices and the centers of some of the
        classes.

        Args:
            x: Positive definite matrices, shape `(batch, n, n)`.
            classes: Ids of the classes, int32, shape `(ids,)`.

        Returns:
            Logarithms of distances, shape `(ids, batch)`.
        """
        return potato.log_distances(ops.take(self.center, classes, axis=0), x)

    def scores(self, values: Tensor, classes: Tensor) -> Tensor:
        """Computes z-scores, shape `(batch, ids)`.

        Args:
            values: Logarithms of distances that `log_distances` returned, shape `(ids, batch)`.
            classes: Ids of the classes, int32, shape `(ids,)`.
        """
        log_mu, log_sigma, count = (
            ops.take(weight, classes) for weight in (self.log_mu, self.log_sigma, self.count)
        )
        scores = potato.z_score(ops.transpose(values), log_mu, log_sigma)
        return ops.where(count > 0, scores, float("nan"))

    def update(self, x: Tensor, labels: Tensor, values: Tensor) -> None:
        """Updates the statistics of each class once per batch, with all rows that belong to the
        class (Kim2020, Eqs. 19-21).

        In distributed training, all replicas make the same update.

        Args:
            x: Positive definite matrices, shape `(batch, n, n)`.
            labels: Class ids, int32, shape `(batch,)`. -1 marks a row without a class.
            values: Logarithmic distance between each row and the center of the row's class, shape
                `(batch,)`. The distances are computed before the update.
        """
        x, labels, values = (gathered(tensor) for tensor in (x, labels, values))
        before = potato.Statistics(*map(ops.convert_to_tensor, self._statistics))
        after = potato.update(before, x, labels, values, self.update_rate)
        for weight, value in zip(self._statistics, after, strict=True):
            weight.assign(value)

    def calibrate(self, x: ArrayLike, labels: ArrayLike) -> None:
        """Measures the statistics of every class (Kim2020, Eqs. 7-9), in float64.

        Args:
            x: Positive definite matrices, shape `(count, n, n)`.
            labels: Class ids, shape `(count,)`.

        Raises:
            ValueError: If a label is not a class id, if a class has fewer than two matrices, or if
                a matrix is not finite or not positive definite.
        """
        x = real("`x`", x)
        labels = checked_labels(labels, len(x), self.classes)
        if not self.built:
            self.build(x.shape)
        statistics = [self._calibrated(x, labels, label) for label in range(self.classes)]
        for weight, values in zip(self._statistics, zip(*statistics, strict=True), strict=True):
            weight.assign(np.stack(values))

    def check_calibrated(self) -> None:
        """Raises a ValueError if a class has no statistics yet."""
        missing = np.flatnonzero(np.asarray(ops.convert_to_numpy(self.count)) == 0)
        if len(missing):
            raise ValueError(
                f"{len(missing)} of {self.classes} Riemannian potatoes are not calibrated: classes "
                f"{missing[:8].tolist()}. Call the model's method `calibrate(x, y)` before "
                "training, with at least two samples of every class."
            )

    @property
    def _statistics(self):
        return potato.Statistics(self.center, self.log_mu, self.log_sigma, self.count)

    @staticmethod
    def _calibrated(x, labels, label):
        try:
            return potato.calibrate(x[labels == label])
        except ValueError as error:
            raise ValueError(f"Class {label} cannot be calibrated. {error}") from None

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return (input_shape[0], self.classes)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "classes": self.classes,
            "update_rate": self.update_rate,
        }


def _identities(shape, dtype=None):
    return ops.broadcast_to(ops.eye(shape[-1], dtype=dtype), shape)
