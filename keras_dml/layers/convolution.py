"""Convolution over time that keeps padding out."""

from keras_dml._keras import keras, ops


@keras.saving.register_keras_serializable(package="keras_dml")
class MaskedConv1D(keras.layers.Conv1D):
    """A `keras.layers.Conv1D` of stride 1 that sets masked steps to zero first and passes the mask
    on.

    Keras's own layer drops the mask, and bias and activations then leak from the padding into the
    recording. With zeros there, as `"same"` pads, a padded batch gives what its recordings give one
    by one.

    Input shape: `(batch, time, channels)`. Output shape: `(batch, time, filters)`.

    Args:
        filters: Number of output channels.
        kernel_size: Steps that a kernel covers.
        **kwargs: Further arguments of `keras.layers.Conv1D`; `strides` is 1 and `padding` is
        `"same"`.
    """

    def __init__(self, filters, kernel_size, **kwargs):
        for name, only in (("strides", 1), ("padding", "same")):
            given = kwargs.pop(name, only)
            if given not in (only, (only,), [only]):
                raise ValueError(
                    f"MaskedConv1D keeps every step: `{name}` must be {only!r}. Received "
                    f"{name}={given!r}. To shorten a sequence use "
                    "`keras_dml.layers.MaskedAveragePooling1D`."
                )
        super().__init__(filters, kernel_size, strides=1, padding="same", **kwargs)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        if mask is not None:
            inputs = ops.where(ops.cast(mask, "bool")[..., None], inputs, 0)
        return super().call(inputs)

    def compute_mask(self, inputs, previous_mask=None):
        return previous_mask
