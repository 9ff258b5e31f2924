"""Layer that computes embeddings of the two-covariance model (PLDA)."""

import numbers
from typing import Any

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import wide
from keras_dml.layers.head import Head, full_precision


@keras.saving.register_keras_serializable(package="keras_dml")
class TwoCovariance(Head, keras.layers.Layer):
    """Embeddings of the two-covariance model, which is PLDA in closed form (Prince2007;
    Bruemmer2010).

    The distance between two embeddings is the negative log likelihood ratio of two hypotheses: the
    embeddings come from one person, or from two people.

    The layer maps a vector to `kernel' x + bias`. In these coordinates, the recordings of a person
    have covariance 1 around the person's mean, and the means of people have the variances
    `variances` around 0. An embedding contains the coordinates and, because distances have no
    state, also the variances.

    Compute the weights in closed form by `keras_dml.training.two_covariance`. A new layer has a
    random kernel and the variances 1. Training changes the kernel and the bias, but not the
    variances.

    Input shape: `(batch, features)`. Output shape: `(batch, 2, units)`. Row 0 contains the
    coordinates, and row 1 contains the variances. The output has the dtype float32 or wider under
    any dtype policy.

    Args:
        units: Number of coordinates.

    Raises:
        ValueError: If `units` is not a whole number of at least 1, or if the inputs are not vectors
            of a known length.

    Example:
        >>> layer = TwoCovariance(1)
        >>> layer.build((None, 2))
        >>> layer.set_weights([np.ones((2, 1)), np.zeros(1), np.array([9.0])])
        >>> x, y = layer(np.array([[1.0, 2.0], [-1.0, -2.0]]))[:, None]
        >>> layer.distance(x, x).numpy().round(1), layer.distance(x, y).numpy().round(1)
        (array([[-1.3]], dtype=float32), array([[7.3]], dtype=float32))
    """

    def __init__(self, units: int, *, dtype: str | keras.DTypePolicy | None = None, **kwargs: Any):
        super().__init__(dtype=full_precision(dtype), **kwargs)
        if not (isinstance(units, numbers.Integral) and units >= 1):
            raise ValueError(
                f"`units` must be a whole number of at least 1. Received units={units!r}."
            )
        self.units = int(units)
        self.distance = distances.LogLikelihoodRatio()

    def build(self, input_shape: tuple[Any, ...]) -> None:
        if len(input_shape) != 2 or input_shape[-1] is None:
            raise ValueError(
                "TwoCovariance takes vectors of known length, shape (batch, features). Received "
                f"shape {tuple(input_shape)}."
            )
        self.kernel = self.add_weight(
            name="kernel", shape=(input_shape[-1], self.units), initializer="glorot_uniform"
        )
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")
        self.variances = self.add_weight(
            name="variances", shape=(self.units,), initializer="ones", trainable=False
        )

    def call(self, inputs: Tensor) -> Tensor:
        features = ops.cast(inputs, wide(self.variable_dtype))
        coordinates = ops.matmul(features, self.kernel) + self.bias
        variances = ops.zeros_like(coordinates) + ops.convert_to_tensor(self.variances)
        return ops.stack([coordinates, variances], axis=1)

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return (input_shape[0], 2, self.units)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}
