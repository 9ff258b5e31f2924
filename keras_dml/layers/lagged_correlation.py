"""Layer that computes standard deviations and lagged correlations of a recording."""

from collections.abc import Sequence
from typing import Any

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.signals.correlation import (
    check_lags,
    check_ridge,
    lagged_correlations,
    num_correlations,
)
from keras_dml.layers.head import Head, full_precision


@keras.saving.register_keras_serializable(package="keras_dml")
class LaggedCorrelation(Head, keras.layers.Layer):
    """One vector per recording. The vector holds the logarithms of the channels' standard
    deviations, and the correlations between channels at several time lags.

    The layer computes second-order statistics of the whole recording. Convolutions that are trained
    on few people do not learn second-order statistics. All operators of the layer are elementwise,
    so the layer runs on every device. In contrast, the augmented covariance of Carrara2024 needs a
    matrix logarithm. This layer was not taken from a paper.

    Input shape: `(batch, time, channels)` with any number of time steps, with or without a Keras
    mask. The masked steps may be anywhere in a recording. Normalize the channels before this layer,
    because the ridge is in squared units of the channels.
    Output shape: `(batch, channels + pairs)`. The output has the dtype float32 or wider under any
    dtype policy. There are `channels (channels - 1) / 2` pairs at lag 0, and `channels ** 2` pairs
    at each positive lag. Correlations are 0 at a lag that is longer than the recording. The output
    is NaN for a recording without valid steps.

    Args:
        lags: Time lags at which the layer correlates channels, in time steps. The lags must be
            distinct whole numbers of at least 0.
        ridge: Constant that is added to each variance. A normalized channel has variance 1, and the
            default is a hundredth of this variance. With a ridge of 0.1 or 0.001 instead of the
            default, the error rate in recognizing people by their walk changes by less than the
            standard error of this rate.

    Raises:
        ValueError: If the lags or the ridge are invalid, or if the input is not a sequence with a
            known number of channels.

    Example:
        >>> x = np.array([[[1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]]])
        >>> LaggedCorrelation((0, 1), ridge=1e-6)(x).numpy().round(2) + 0
        array([[ 0.,  0., -1., -1.,  1.,  1., -1.]], dtype=float32)
    """

    def __init__(
        self,
        lags: Sequence[int] = (0,),
        ridge: float = 1e-2,
        *,
        dtype: str | keras.DTypePolicy | None = None,
        **kwargs: Any,
    ):
        super().__init__(dtype=full_precision(dtype), **kwargs)
        self.lags, self.ridge = check_lags(lags), check_ridge(ridge)
        self.distance = distances.Euclidean()
        self.supports_masking = True

    def build(self, input_shape: tuple[Any, ...]) -> None:
        if len(input_shape) != 3 or input_shape[-1] is None:
            raise ValueError(
                "LaggedCorrelation needs recordings of a known number of channels, shape (batch, "
                f"time, channels). Received shape {tuple(input_shape)}."
            )

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        stddevs, correlations = lagged_correlations(inputs, mask, self.lags, self.ridge)
        return ops.concatenate([ops.log(stddevs), correlations], axis=-1)

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        return None

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        batch, _, channels = input_shape
        return (batch, channels + num_correlations(channels, self.lags))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "lags": self.lags, "ridge": self.ridge}
