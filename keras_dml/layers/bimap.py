"""Bilinear map of symmetric matrices with orthonormal columns."""

import numbers

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry import spd
from keras_dml.geometry.spd import stiefel
from keras_dml.layers.head import Head
from keras_dml.layers.matrices import MatrixLayer


@keras.saving.register_keras_serializable(package="keras_dml")
class OrthonormalColumns(keras.constraints.Constraint):
    """Constraint that projects a kernel W to the nearest matrix with orthonormal columns, its polar
    factor W (W'W)^(-1/2).

    Keras applies constraints after each step of the optimizer. For plain SGD, the step and the
    projection together are a Riemannian gradient step to first order. The projection removes a
    common factor, such as the factor of weight decay.
    """

    def __call__(self, w):
        return stiefel.polar(w)


@keras.saving.register_keras_serializable(package="keras_dml")
class BiMap(Head, MatrixLayer):
    """Bilinear map of symmetric matrices X to W'XW, with orthonormal columns in W (Huang2017).

    The linear layer of SPD networks: it returns fewer channels, each a mixture of the input
    channels. Positive definite matrices stay positive definite, and their smallest eigenvalue does
    not fall (Poincaré), so one `ReEig` suffices. With `units` = n the affine-invariant distances do
    not change at all, so the layer must reduce the size to learn.

    Input shape: `(batch, ..., n, n)`; only the symmetric part counts. Output shape: `(batch, ...,
    units, units)`, symmetric, float32 or wider under any policy.

    The kernel, (n, units), stays on the Stiefel manifold under any optimizer, because a constraint
    projects it after each step. A kernel that the forward pass computes from a free matrix learns
    equally well (`tests/bench/bimap.py`: a step takes 0.97 of the time, and after 1,000 steps both
    kernels are within 2e-6 of the manifold), but then every device needs an eigendecomposition for
    it. Weight decay only makes steps longer, by 1 / (1 - learning rate x decay). An optimizer with
    `use_ema=True` ends `fit` with an average (EMA) of kernels, which is not on the manifold.
    Project it by `layer.kernel.assign(layer.kernel.constraint(layer.kernel))`.

    Args:
        units: Size of the resulting matrices, at most n.

    Raises:
        ValueError: If `units` is not a positive integer or is above the size of the matrices, or
            the matrices are not square.

    Example:
        >>> layer = BiMap(1)
        >>> layer.build((None, 2, 2))
        >>> layer.set_weights([np.array([[0.6], [0.8]])])
        >>> layer(np.array([[[1.0, 0.0], [0.0, 2.0]]])).numpy().round(4)
        array([[[1.64]]], dtype=float32)
    """

    def __init__(self, units: int, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(units, numbers.Integral) or units < 1:
            raise ValueError(
                f"`units` must be a whole number of at least 1. Received units={units!r}."
            )
        self.units = int(units)
        self.distance = distances.AffineInvariant()

    def build(self, input_shape: tuple) -> None:
        super().build(input_shape)
        n = input_shape[-1]
        if self.units > n:
            raise ValueError(
                f"`units` must be at most {n}, the size of the matrices. Received "
                f"units={self.units}: {type(self).__name__} reduces matrices, and {self.units} "
                f"orthonormal columns of length {n} do not exist."
            )
        self.kernel = self.add_weight(
            name="kernel",
            shape=(n, self.units),
            initializer="orthogonal",
            constraint=OrthonormalColumns(),
        )

    def call(self, inputs: Tensor) -> Tensor:
        half = ops.swapaxes(ops.matmul(inputs, self.kernel), -1, -2)  # (batch, ..., units, n)
        return spd.symmetric(ops.matmul(half, self.kernel))

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        return (*input_shape[:-2], self.units, self.units)

    def get_config(self) -> dict:
        return {**super().get_config(), "units": self.units}
