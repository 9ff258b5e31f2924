"""Second-order statistics of a recording: standard deviations and lagged correlations."""

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml.geometry.signals.correlation import (
    check_lags,
    check_ridge,
    lagged_correlations,
    num_correlations,
)
from keras_dml.layers.head import Head
from keras_dml.layers.precision import full_precision


@keras.saving.register_keras_serializable(package="keras_dml")
class LaggedCorrelation(Head, keras.layers.Layer):
    """Log standard deviations of the channels, and their correlations some steps later: one vector
    per recording.

    Second-order statistics of the whole recording, which convolutions trained on few people do not
    find, in operators that every device has: elementwise, where the augmented covariance of
    Carrara2024 takes a matrix logarithm. An extension of the papers.

    Input shape: `(batch, time, channels)`, any time, with or without a Keras mask of any pattern;
    normalize the channels before, since the ridge is in their squared unit. Output shape: `(batch,
    channels + pairs)`, with `channels (channels - 1) / 2` pairs at lag 0 and `channels ** 2` at any
    other; float32 or wider under any policy. Correlations at a lag that a recording is too short
    for are 0; a recording without valid steps gives NaN.

    Args:
        lags: Distinct lags in steps, whole numbers, at least 0.
        ridge: Constant added to each variance. The default is a hundredth of the variance of a
            normalized channel: with a tenth or a thousandth of it the error rate of walkers
            changes by less than its standard error.

    Raises:
        ValueError: If the lags or the ridge are not as above, or the input is not a sequence of
            known channels.

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
