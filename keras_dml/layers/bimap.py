"""Bilinear map of symmetric matrices with orthonormal columns."""

import numbers

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml.geometry import spd
from keras_dml.geometry.spd import stiefel
from keras_dml.layers.head import Head
from keras_dml.layers.matrices import MatrixLayer


@keras.saving.register_keras_serializable(package="keras_dml")
class OrthonormalColumns(keras.constraints.Constraint):
    """Projects a kernel to the nearest matrix with orthonormal columns: its polar factor
    W (W'W)^(-1/2).

    Keras runs constraints after each step of the optimizer. For plain SGD, step and polar factor
    together are the Riemannian gradient step to first order; a common factor, which weight decay
    is, drops out.
    """

    def __call__(self, w):
        return stiefel.polar(w)


@keras.saving.register_keras_serializable(package="keras_dml")
class BiMap(Head, MatrixLayer):
    """Maps symmetric matrices X to W'XW, with orthonormal columns in W (Huang2017).

    The linear layer of SPD networks: fewer channels, each a mixture of the old ones. Positive
    definite matrices stay so, and their smallest eigenvalue does not fall (Poincaré), so that after
    one `ReEig` no other one is needed. With `units` = n the affine-invariant distances do not
    change at all: what learns is the reduction.

    Input shape: `(batch, ..., n, n)`; only the symmetric part counts. Output shape: `(batch, ...,
    units, units)`, symmetric, float32 or wider under any policy.

    The kernel, (n, units), stays on the Stiefel manifold under any optimizer: a constraint puts it
    back after each step. Computed in the forward pass from a free matrix instead, it learns the
    same in the same time (`tests/bench/bimap.py`: a step takes 0.97 of it, after 1,000 both are
    within 2e-6 of the manifold), but then every device needs an eigendecomposition for it. Weight
    decay has no effect on it but a step longer by 1 / (1 - learning rate x decay). An optimizer
    with `use_ema=True` ends `fit` with an average of kernels, which is not on the manifold:
    `layer.kernel.assign(layer.kernel.constraint(layer.kernel))`.

    Args:
        units: Size of the resulting matrices, at most n.

    Raises:
        ValueError: If `units` is not a positive integer, is above the size of the matrices,
            or these are not square.

    Example:
        >>> layer = BiMap(1)
        >>> layer.build((None, 2, 2))
        >>> layer.set_weights([np.array([[0.6], [0.8]])])
        >>> layer(np.array([[[1.0, 0.0], [0.0, 2.0]]])).numpy().round(4)
        array([[[1.64]]], dtype=float32)
    """

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(units, numbers.Integral) or units < 1:
            raise ValueError(
                f"`units` must be a whole number of at least 1. Received units={units!r}."
            )
        self.units = int(units)
        self.distance = distances.AffineInvariant()

    def build(self, input_shape):
        super().build(input_shape)
        n = input_shape[-1]
        if self.units > n:
            raise ValueError(
                f"{type(self).__name__} reduces matrices: {self.units} orthonormal columns of "
                f"length {n} do not exist. `units` must be at most {n}."
            )
        self.kernel = self.add_weight(
            name="kernel",
            shape=(n, self.units),
            initializer="orthogonal",
            constraint=OrthonormalColumns(),
        )

    def call(self, inputs):
        half = ops.swapaxes(ops.matmul(inputs, self.kernel), -1, -2)  # (batch, ..., units, n)
        return spd.symmetric(ops.matmul(half, self.kernel))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-2], self.units, self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units}
