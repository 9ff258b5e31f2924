"""Layer that normalizes batches on the manifold of positive definite matrices."""

from typing import Any

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml._backend.precision import in_float64
from keras_dml._typing import Tensor
from keras_dml.geometry import spd
from keras_dml.geometry.numerics import mean
from keras_dml.layers.head import Head
from keras_dml.layers.matrices import MatrixLayer, compiles


@keras.saving.register_keras_serializable(package="keras_dml")
class RiemannianBatchNormalization(Head, MatrixLayer):
    """Batch normalization that moves positive definite matrices to a learned mean (Brooks2019).

    The layer maps X to B^(1/2) G^(-1/2) X G^(-1/2) B^(1/2). In training, G is an approximate mean
    of the batch: the result of one Karcher step from the arithmetic mean. No gradient passes
    through G. In inference, G is the running mean. B is learned. The layer stores the matrix
    logarithm of B, so B stays positive definite with every optimizer. Use this layer between
    `BiMap` and `ReEig` if the mixture of channels changes between sessions or amplifiers. Put
    `ReEig` after this layer, because this layer may lower eigenvalues.

    Input and output shape: `(batch, ..., n, n)`, positive definite matrices. The output has the
    dtype float32 or wider under any dtype policy. To compute the mean, the layer raises eigenvalues
    below the rounding error to the rounding error.

    Args:
        momentum: Weight of the old running mean when a batch updates the running mean. The update
            moves the running mean along the geodesic toward the batch's mean. Brooks2019 uses 0.9.

    Raises:
        ValueError: If `momentum` is not between 0 and 1, or if the matrices are not square.

    Example:
        >>> layer = RiemannianBatchNormalization()
        >>> layer(np.array([[[4.0]], [[9.0]]]), training=True).numpy().round(4).ravel()
        array([0.6667, 1.5   ], dtype=float32)
    """

    def __init__(self, momentum: float = 0.9, **kwargs: Any):
        super().__init__(**kwargs)
        if not 0 <= momentum <= 1:
            raise ValueError(f"`momentum` must be between 0 and 1. Received momentum={momentum!r}.")
        self.momentum = float(momentum)
        self.supports_jit = compiles("eigh")
        self.distance = distances.AffineInvariant()

    def build(self, input_shape: tuple[Any, ...]) -> None:
        super().build(input_shape)
        n = input_shape[-1]
        self.bias = self.add_weight(name="bias", shape=(n * (n + 1) // 2,), initializer="zeros")
        self.running_mean = self.add_weight(
            name="running_mean",
            shape=(n, n),
            initializer="identity",
            trainable=False,
            aggregation="mean",  # each replica normalizes its rows separately
        )

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        center = ops.convert_to_tensor(self.running_mean)
        if training:
            running, center = center, ops.stop_gradient(_one_step_mean(inputs))
            self.running_mean.assign(spd.geodesic(running, center, 1 - self.momentum))
        bias = spd.exp(spd.unvectorize(self.bias) / 2)  # B^(1/2), (n, n)
        change = ops.matmul(bias, spd.inverse_sqrt(center))  # (n, n)
        return _congruence(change, inputs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "momentum": self.momentum}


def _one_step_mean(x):
    """Computes one step of the Karcher flow, starting at the arithmetic mean of all matrices.
    Returns a matrix `(n, n)`."""

    @in_float64
    def step(x):
        start = mean(x, axis=0)
        tangents = spd.log(_congruence(spd.inverse_sqrt(start), x))
        return _congruence(spd.sqrt(start), spd.exp(mean(tangents, axis=0)))

    return step(ops.reshape(x, (-1, *x.shape[-2:])))


def _congruence(p, x):
    """Computes the symmetric matrix P X P'."""
    return spd.symmetric(ops.matmul(ops.matmul(p, x), ops.swapaxes(p, -1, -2)))
