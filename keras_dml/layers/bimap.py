"""Layer that maps symmetric matrices bilinearly by a matrix with orthonormal columns."""

import numbers
from typing import Any

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

    Keras applies constraints after each step of the optimizer. With plain SGD, the step and the
    projection together are a Riemannian gradient step to first order. The projection removes common
    factors of W, such as the factor of weight decay.
    """

    def __call__(self, w):
        return stiefel.polar(w)


@keras.saving.register_keras_serializable(package="keras_dml")
class BiMap(Head, MatrixLayer):
    """Bilinear map of symmetric matrices X to W'XW, with orthonormal columns in W (Huang2017).

    This is the linear layer of SPD networks. The output has fewer channels, each of which is a
    mixture of the input channels. Positive definite matrices stay positive definite, and the
    smallest eigenvalue does not decrease (Poincaré), so one `ReEig` suffices. If `units` equals n,
    the affine-invariant distances between matrices do not change at all. So the layer learns only
    if it reduces the size.

    Input shape: `(batch, ..., n, n)`. Only the symmetric part is used. Output shape:
    `(batch, ..., units, units)`, symmetric, float32 or wider under any dtype policy.

    The kernel, shape (n, units), stays on the Stiefel manifold with every optimizer, because a
    constraint projects it after each step. Alternatively, the forward pass could compute the kernel
    from a free matrix, which learns equally well. In `tests/bench/bimap.py`, a training step of
    this alternative takes 0.97 of the time. After 1,000 steps, the kernels of the two methods
    differ from the manifold by at most 2e-6. But then every device would need an eigendecomposition
    for the kernel. Weight decay does not change the kernel. It only makes steps longer, by the
    factor 1 / (1 - learning rate x decay). An optimizer with `use_ema=True` ends `fit` with an
    average (EMA) of kernels, which is not on the manifold. Project this average by
    `layer.kernel.assign(layer.kernel.constraint(layer.kernel))`.

    Args:
        units: Size of the output matrices, at most n.

    Raises:
        ValueError: If `units` is not a positive integer or exceeds the size of the input matrices,
            or the matrices are not square.

    Example:
        >>> layer = BiMap(1)
        >>> layer.build((None, 2, 2))
        >>> layer.set_weights([np.array([[0.6], [0.8]])])
        >>> layer(np.array([[[1.0, 0.0], [0.0, 2.0]]])).numpy().round(4)
        array([[[1.64]]], dtype=float32)
    """

    def __init__(self, units: int, **kwargs: Any):
        super().__init__(**kwargs)
        if not isinstance(units, numbers.Integral) or units < 1:
            raise ValueError(
                f"`units` must be a whole number of at least 1. Received units={units!r}."
            )
        self.units = int(units)
        self.distance = distances.AffineInvariant()

    def build(self, input_shape: tuple[Any, ...]) -> None:
        super().build(input_shape)
        n = input_shape[-1]
        if self.units > n:
            raise ValueError(
                f"`units` must be at most {n}, the size of the matrices. Received "
                f"units={self.units}. {type(self).__name__} cannot enlarge matrices, because "
                f"{self.units} orthonormal columns of length {n} do not exist."
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

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*input_shape[:-2], self.units, self.units)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}
