"""Layer that computes the quantile function of each filter's activations over time."""

import numbers
from typing import Any

from keras_dml import distances
from keras_dml._backend import host, keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry import quantile
from keras_dml.layers.head import Head, full_precision


@keras.saving.register_keras_serializable(package="keras_dml")
class QuantileLayer(Head, keras.layers.Layer):
    """Values of each filter's quantile function over time, at learned knots (quantile pooling;
    Abdelwahab2019, Eqs. 2-5).

    Use this layer as the last layer of a sequence encoder instead of max or average pooling. The
    output is an embedding that describes the distribution of each filter's activations over time.
    The distance between two embeddings is a sum of Wasserstein distances.

    Input shape: `(batch, time, filters)` with any number of time steps, with or without a Keras
    mask. The masked steps may be anywhere in a recording.

    Output shape: `(batch, filters + 1, knots + 2)`. The output has the dtype float32 or wider under
    any dtype policy. Rows 0 to `filters - 1` hold the values of the quantile functions at the knots
    0, s_1, ..., s_M, 1, in the unit of the filters' activations. The last row holds the knots. With
    `flatten=True` the output has shape `(batch, filters * knots)` and holds only the values at the
    learned knots, ordered by filter.

    The embedding of a recording without a valid step is NaN.

    Args:
        knots: Number M of learned knots.
        p: Order of the Wasserstein distance that the property `distance` returns (Abdelwahab2019,
            Eq. 9).
        flatten: Whether to return one vector per recording. If True, the property `distance` is a
            cosine distance between vectors (Abdelwahab2019, section 5.3, methods QP-NPL and
            QP-CLS).
        host_sort: Whether training sorts with NumPy on the host. Sorting with NumPy is several
            times faster on a CPU, but is not a graph operation. The default is True if TensorFlow
            trains on a CPU, and False otherwise. Inference, export and steps that XLA compiles
            (`jit_compile=True`) never sort on the host.

    Raises:
        ValueError: If `knots` is not a positive integer, if `p` is below 1, or if the input is not
            a sequence with a known number of channels.

    Example:
        >>> layer = QuantileLayer(knots=1)
        >>> layer(np.array([[[3.0], [1.0], [2.0], [4.0]]]))[0].numpy()
        array([[1. , 3. , 4. ],
               [0. , 0.5, 1. ]], dtype=float32)
    """

    def __init__(
        self,
        knots: int = 16,
        *,
        p: float = 1,
        flatten: bool = False,
        host_sort: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        **kwargs: Any,
    ):
        super().__init__(dtype=full_precision(dtype), **kwargs)
        if not isinstance(knots, numbers.Integral) or knots < 1:
            raise ValueError(
                f"`knots` must be a whole number of at least 1. Received knots={knots!r}."
            )
        self.knots = int(knots)
        self.p = p
        self.flatten = bool(flatten)
        self.host_sort = host_sort
        self.distance = distances.Cosine() if self.flatten else distances.Wasserstein(p)
        self.supports_masking = True

    def build(self, input_shape: tuple[Any, ...]) -> None:
        if len(input_shape) != 3 or input_shape[-1] is None:
            raise ValueError(
                "QuantileLayer needs sequences of known width, shape (batch, time, filters). "
                f"Received shape {tuple(input_shape)}."
            )
        self.alpha = self.add_weight(
            name="alpha",
            shape=(self.knots,),
            initializer=lambda shape, dtype: ops.cast(quantile.initial_alpha(self.knots), dtype),
        )

    def _sorts_on_host(self):
        return host.is_faster() if self.host_sort is None else self.host_sort

    def knot_values(self) -> Tensor:
        """Returns the knots in ascending order: 0, the learned knots and 1. The shape is
        `(knots + 2,)`."""
        return quantile.knots(self.alpha)

    def call(self, inputs: Tensor, mask: Tensor | None = None, training: bool = False) -> Tensor:
        r = self.knot_values()  # (knots + 2,)
        values = quantile.quantiles(inputs, r, mask, on_host=training and self._sorts_on_host())
        if self.flatten:
            return ops.reshape(values[..., 1:-1], (-1, values.shape[1] * self.knots))
        row = ops.cast(r, values.dtype)[None, None, :]  # (1, 1, knots + 2)
        return ops.concatenate([values, row + ops.zeros_like(values[:, :1])], axis=1)

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        return None

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        batch, _, filters = input_shape
        if self.flatten:
            return (batch, filters * self.knots)
        return (batch, filters + 1, self.knots + 2)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "knots": self.knots,
            "p": self.p,
            "flatten": self.flatten,
            "host_sort": self.host_sort,
        }
