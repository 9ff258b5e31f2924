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
    """Constraint that projects a kernel W to the nearest matrix with orthonormal columns. The
    nearest matrix with orthonormal columns is the polar factor W (W'W)^(-1/2).

    Keras applies constraints after each step of the optimizer. With plain SGD, a step followed by
    the projection equals a Riemannian gradient step to first order. If all entries of W are
    multiplied by a factor, for example by weight decay, the projection removes the factor.
    """

    def __call__(self, w):
        return stiefel.polar(w)


@keras.saving.register_keras_serializable(package="keras_dml")
class BiMap(Head, MatrixLayer):
    """Bilinear map of symmetric matrices X to W'XW, with orthonormal columns in W (Huang2017).

    BiMap is the linear layer of SPD networks. The output has fewer channels, and each output
    channel is a mixture of the input channels. Positive definite matrices stay positive definite,
    and their smallest eigenvalue does not decrease (Poincaré). So a network needs only one `ReEig`.
    If `units` equals n, the layer does not change any affine-invariant distance between two
    matrices. So the layer can only learn something if `units` is less than n.

    Input shape: `(batch, ..., n, n)`. The layer uses only the symmetric part of a matrix. Output
    shape: `(batch, ..., units, units)`. The output is symmetric, and has the dtype float32 or wider
    under any dtype policy.

    The columns of the kernel, shape (n, units), stay orthonormal with every optimizer, because a
    constraint projects the kernel to the Stiefel manifold after each step. Alternatively, the
    forward pass could compute the kernel from an unconstrained matrix, and the layer would learn
    equally well. In `tests/bench/bimap.py`, a training step with an unconstrained matrix takes 0.97
    times as long as a training step with the constraint. After 1,000 training steps, no entry of
    W'W differs from the identity matrix by more than 2e-6, with or without the constraint. However,
    every device would need an eigendecomposition to compute the kernel from an unconstrained
    matrix. Weight decay does not shrink the kernel, because the projection restores the length of
    the kernel's columns. Weight decay only makes the optimizer's steps longer, by the factor 1 / (1
    - learning rate x decay). If the optimizer has `use_ema=True`, the kernel after `fit` is an
    average (EMA) of kernels, and the columns of this average are not orthonormal. Project the
    averaged kernel by `layer.kernel.assign(layer.kernel.constraint(layer.kernel))`.

    Args:
        units: Size of the output matrices, at most n.

    Raises:
        ValueError: If `units` is not a positive integer or exceeds the size of the input matrices,
            or if the matrices are not square.

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
