"""What a whole recording says of its channels: deviations and lagged correlations."""

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml.geometry.signals.correlation import (
    check_lags,
    check_ridge,
    lagged_correlations,
    num_correlations,
)
from keras_dml.layers.precision import full_precision


@keras.saving.register_keras_serializable(package="keras_dml")
class LaggedCorrelation(keras.layers.Layer):
    """Logarithm of each channel's deviation, and correlations of all channels with themselves and
    each other some steps later: one vector a recording.

    Second-order statistics of the whole recording, which convolutions trained on few people do not
    find, in operators that every device has: the elementwise relative of a logarithm of the
    covariance of the channels with their own past (Carrara2024, "augmented
    covariance"). Not in the papers.

    Input shape: `(batch, time, channels)`, any time, with or without a Keras mask of any pattern;
    normalize the channels before, since the ridge is in their squared unit. Output shape: `(batch,
    channels + pairs)`, with `channels (channels - 1) / 2` pairs at lag 0 and `channels ** 2` at any
    other; float32 or wider whatever the policy. Correlations at a lag that a recording is too short
    for are 0; a recording without valid steps gives NaN.

    Args:
        lags: Steps later, whole numbers from 0 on, each once.
        ridge: Added to each variance. The default is a hundredth of that of a normalized channel:
            a tenth or a thousandth of it changes the error rate of `gait_qp_wl` by less than its
            standard error.

    Raises:
        ValueError: If the lags or the ridge are not as above, or the input is no sequence of known
            channels.

    Example:
        >>> x = np.array([[[1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]]])
        >>> LaggedCorrelation((0, 1), ridge=1e-6)(x).numpy().round(2) + 0
        array([[ 0.,  0., -1., -1.,  1.,  1., -1.]], dtype=float32)
    """

    def __init__(self, lags=(0,), ridge=1e-2, *, dtype=None, **kwargs):
        super().__init__(dtype=full_precision(dtype), **kwargs)
        self.lags, self.ridge = check_lags(lags), check_ridge(ridge)
        self.distance = distances.Euclidean()
        self.supports_masking = True

    def build(self, input_shape):
        if len(input_shape) != 3 or input_shape[-1] is None:
            raise ValueError(
                "LaggedCorrelation needs recordings of a known number of channels, shape (batch, "
                f"time, channels). Received shape {tuple(input_shape)}."
            )

    def call(self, inputs, mask=None):
        stddevs, correlations = lagged_correlations(inputs, mask, self.lags, self.ridge)
        return ops.concatenate([ops.log(stddevs), correlations], axis=-1)

    def compute_mask(self, inputs, previous_mask=None):
        return None

    def compute_output_shape(self, input_shape):
        batch, _, channels = input_shape
        return (batch, channels + num_correlations(channels, self.lags))

    def get_config(self):
        return {**super().get_config(), "lags": self.lags, "ridge": self.ridge}
