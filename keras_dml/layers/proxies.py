"""Layer with one learned proxy per class."""

import numbers
from typing import Any

from keras_dml._backend import keras
from keras_dml._typing import Tensor
from keras_dml.geometry import vector
from keras_dml.layers.head import full_precision


@keras.saving.register_keras_serializable(package="keras_dml")
class Proxies(keras.layers.Layer):
    """Squared distances between embeddings and one learned proxy per class, after scaling
    embeddings and proxies to length 1 (MovshovitzAttias2017).

    To train with `keras_dml.losses.ProxyNCALoss` (proxy NCA), put this layer after the encoder. The
    embeddings are the inputs of this layer, not the outputs. So publish only the encoder, without
    the layer `Proxies`. The proxies are weights of the layer and are saved with the model.

    Input shape: `(batch, features)`, vectors of any length.

    Output shape: `(batch, classes)`. The distances are in [0, 4] up to rounding, and have the dtype
    float32 or wider under any dtype policy. A zero vector has no direction, so it has the distance
    2 from every proxy.

    Args:
        classes: Number of classes, at least 2. The layer has one proxy per class. Labels are 0 to
            `classes - 1`.

    Raises:
        ValueError: If `classes` is not an integer of at least 2, or if the input is not a batch of
            vectors.

    Example:
        >>> layer = Proxies(classes=2)
        >>> layer.build((None, 2))
        >>> layer.set_weights([np.array([[1.0, 0.0], [0.0, -3.0]])])
        >>> layer(np.array([[0.0, 2.0]])).numpy()
        array([[2., 4.]], dtype=float32)
    """

    def __init__(
        self, classes: int, *, dtype: str | keras.DTypePolicy | None = None, **kwargs: Any
    ):
        super().__init__(dtype=full_precision(dtype), **kwargs)
        if not isinstance(classes, numbers.Integral) or classes < 2:
            raise ValueError(
                f"`classes` must be a whole number of at least 2. Received classes={classes!r}."
            )
        self.classes = int(classes)
        self.supports_masking = True

    def build(self, input_shape: tuple[Any, ...]) -> None:
        if len(input_shape) != 2 or input_shape[1] is None:
            raise ValueError(
                "Proxies needs vectors of known width, shape (batch, features). Received shape "
                f"{tuple(input_shape)}. For matrices, put `LogEig` and `TangentVector` before "
                "Proxies. For sequences, put `SequencePooling` or `QuantileLayer(flatten=True)` "
                "before Proxies."
            )
        self.proxies = self.add_weight(
            name="proxies", shape=(self.classes, input_shape[1]), initializer="random_normal"
        )

    def call(self, inputs: Tensor) -> Tensor:
        return 2 - 2 * vector.cosine(inputs, self.proxies)

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        return None

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return (input_shape[0], self.classes)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "classes": self.classes}
