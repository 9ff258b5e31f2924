"""What the layers of linear discriminants share."""

import numbers

from keras_dml._backend import keras, ops
from keras_dml.geometry.numerics import wide


class BoundedDiscriminants(keras.layers.Layer):
    """A base of layers that compute `limit * tanh(d / limit)` of linear discriminants d, in float32
    or wider under any policy.

    Args:
        units: Number of discriminants.
        limit: Maximum, positive.

    Raises:
        ValueError: If an argument is not as above.
    """

    def __init__(self, units, limit=2.0, **kwargs):
        super().__init__(**kwargs)
        if not (isinstance(units, numbers.Integral) and units >= 1):
            raise ValueError(
                f"`units` must be a whole number of at least 1. Received units={units!r}."
            )
        if not (isinstance(limit, numbers.Real) and 0 < limit < float("inf")):
            raise ValueError(f"`limit` must be a positive number. Received limit={limit!r}.")
        self.units, self.limit = int(units), float(limit)

    def add_discriminants(self, features):
        """Adds the weights, zeros: discriminants of that many features."""
        self.kernel = self.add_weight(
            name="kernel", shape=(features, self.units), initializer="zeros"
        )
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")

    def bounded(self, features):
        """Shape `(batch, features)` to `(batch, units)`."""
        features = ops.cast(features, wide(self.variable_dtype))
        discriminants = ops.matmul(features, self.kernel) + self.bias
        # Keras's tanh narrows float64 to float32 on JAX
        return self.limit * (2 * ops.sigmoid(2 / self.limit * discriminants) - 1)

    def get_config(self):
        return {**super().get_config(), "units": self.units, "limit": self.limit}
