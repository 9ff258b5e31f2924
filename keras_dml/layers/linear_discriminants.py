"""Layer that computes bounded linear discriminants (LDA)."""

import numbers
from typing import Any

from keras_dml import distances
from keras_dml._arrays import positive
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import wide
from keras_dml.layers.head import Head, full_precision


@keras.saving.register_keras_serializable(package="keras_dml")
class LinearDiscriminants(Head, keras.layers.Layer):
    """Bounded linear discriminants (LDA) of a recording's features. The distance between two
    outputs is their negative cosine.

    The layer maps a discriminant d to `limit * tanh(d / limit)`, so that unusual recordings have
    only a limited influence. A new layer returns zeros. Compute the weights in closed form by
    `keras_dml.training.discriminants`, or train the weights.

    Input shape: `(batch, features)`. Output shape: `(batch, units)`. The output has the dtype
    float32 or wider under any dtype policy.

    Args:
        units: Number of discriminants.
        limit: Largest absolute value of an output, a positive number. Discriminants are usually in
            units of the standard deviation within a class. A discriminant beyond the default limit
            of two indicates an unusual recording rather than a difference between classes.

    Raises:
        ValueError: If an argument is out of range, or if the inputs are not vectors of a known
            length.

    Example:
        >>> layer = LinearDiscriminants(1)
        >>> layer.build((None, 3))
        >>> layer.set_weights([np.ones((3, 1)), np.zeros(1)])
        >>> layer(np.array([[10.0, 20.0, 30.0]])).numpy()
        array([[2.]], dtype=float32)
    """

    def __init__(
        self,
        units: int,
        limit: float = 2.0,
        *,
        dtype: str | keras.DTypePolicy | None = None,
        **kwargs: Any,
    ):
        super().__init__(dtype=full_precision(dtype), **kwargs)
        if not (isinstance(units, numbers.Integral) and units >= 1):
            raise ValueError(
                f"`units` must be a whole number of at least 1. Received units={units!r}."
            )
        self.units, self.limit = int(units), positive("limit", limit)
        self.distance = distances.Cosine()

    def build(self, input_shape: tuple[Any, ...]) -> None:
        if len(input_shape) != 2 or input_shape[-1] is None:
            raise ValueError(
                "LinearDiscriminants takes vectors of known length, shape (batch, features). "
                f"Received shape {tuple(input_shape)}."
            )
        self.kernel = self.add_weight(
            name="kernel", shape=(input_shape[-1], self.units), initializer="zeros"
        )
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")

    def call(self, inputs: Tensor) -> Tensor:
        features = ops.cast(inputs, wide(self.variable_dtype))
        discriminants = ops.matmul(features, self.kernel) + self.bias
        # Keras's tanh narrows float64 to float32 on JAX
        return self.limit * (2 * ops.sigmoid(2 / self.limit * discriminants) - 1)

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return (input_shape[0], self.units)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units, "limit": self.limit}
