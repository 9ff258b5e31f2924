"""Convolution over time that ignores masked steps."""

import functools

from keras_dml._backend import keras, ops

# Values of the options.
OPTIONS = {"strides": (1, (1,), [1]), "padding": ("same", "valid")}


@keras.saving.register_keras_serializable(package="keras_dml")
class MaskedConv1D(keras.layers.Conv1D):
    """A `keras.layers.Conv1D` of stride 1 that sets masked steps to zero first and passes the mask
    on.

    Keras's own layer drops the mask, and bias and activations then leak from the padding into the
    recording. With zeros there, as `"same"` pads, a padded batch gives what its recordings give one
    by one. With `"valid"` a step is valid where all steps that it sees are.

    Input shape: `(batch, time, channels)`. Output shape: `(batch, time, filters)`; with `"valid"`
    the time is shorter by `(kernel_size - 1) * dilation_rate`.

    Args:
        filters: Number of output channels.
        kernel_size: Steps that a kernel covers.
        strides: 1, as Keras writes it into configurations.
        padding: `"same"` or `"valid"`.
        **kwargs: Further arguments of `keras.layers.Conv1D`.

    Raises:
        ValueError: If an option would lose steps, or a recording whose length is known is shorter
            than a kernel of `"valid"` reaches.
    """

    def __init__(self, filters, kernel_size, *, strides=1, padding="same", **kwargs):
        for name, given in (("strides", strides), ("padding", padding)):
            if given not in OPTIONS[name]:
                raise ValueError(
                    "MaskedConv1D drops no step between others: `strides` must be 1, `padding` "
                    f"'same' or 'valid'. Received {name}={given!r}. To shorten a sequence use "
                    "`keras_dml.layers.MaskedAveragePooling1D`."
                )
        super().__init__(filters, kernel_size, strides=1, padding=padding, **kwargs)
        self.supports_masking = True

    @property
    def reach(self):
        """Steps from the first to the last that a kernel sees, both counted."""
        return 1 + (self.kernel_size[0] - 1) * self.dilation_rate[0]

    def call(self, inputs, mask=None):
        if self.padding == "valid" and inputs.shape[1] is not None and inputs.shape[1] < self.reach:
            raise ValueError(
                f"{self.name} sees {self.reach} steps at once; a sequence has {inputs.shape[1]}. "
                'Leave out what is shorter, or use padding="same".'
            )
        if mask is not None:
            inputs = ops.where(ops.expand_dims(ops.cast(mask, "bool"), -1), inputs, 0)
        if inputs.shape[0] == 0:  # TensorFlow's convolution of no rows keeps the input's channels
            return super().call(ops.pad(inputs, ((0, 1), (0, 0), (0, 0))))[:0]
        return super().call(inputs)

    def compute_mask(self, inputs, previous_mask=None):
        if previous_mask is None or self.padding == "same":
            return previous_mask
        mask, step = ops.cast(previous_mask, "bool"), self.dilation_rate[0]
        steps = ops.shape(mask)[1] - self.reach + 1
        seen = [mask[:, i * step : i * step + steps] for i in range(self.kernel_size[0])]
        return functools.reduce(ops.logical_and, seen)
