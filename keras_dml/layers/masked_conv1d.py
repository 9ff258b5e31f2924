"""Convolution over time that ignores masked steps."""

import functools

from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor

# Allowed values of the options.
OPTIONS = {"strides": (1, (1,), [1]), "padding": ("same", "valid")}


@keras.saving.register_keras_serializable(package="keras_dml")
class MaskedConv1D(keras.layers.Conv1D):
    """`keras.layers.Conv1D` of stride 1 that first sets masked steps to zero and keeps the mask.

    Keras's own layer drops the mask, and bias and activations then leak from the padding into the
    recording. With zeros in masked steps, as `"same"` pads, the output for a padded batch equals
    the outputs for its recordings. With `"valid"` an output step is valid if all steps that its
    kernel covers are valid.

    Input shape: `(batch, time, channels)`. Output shape: `(batch, time, filters)`; with `"valid"`
    the time is shorter by `(kernel_size - 1) * dilation_rate`.

    Args:
        filters: Number of output channels.
        kernel_size: Steps that a kernel covers.
        strides: Must be 1; the argument exists because Keras writes it into configurations.
        padding: `"same"` or `"valid"`.
        **kwargs: Further arguments of `keras.layers.Conv1D`.

    Raises:
        ValueError: If an option has another value, or a recording of known length is shorter than
            the steps that a kernel covers with `"valid"`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: int,
        *,
        strides: int = 1,
        padding: str = "same",
        **kwargs,
    ):
        for name, value in (("strides", strides), ("padding", padding)):
            if value not in OPTIONS[name]:
                raise ValueError(
                    "`strides` of MaskedConv1D must be 1, and `padding` 'same' or 'valid'. "
                    f"Received {name}={value!r}. Shorten a sequence by "
                    "`keras_dml.layers.MaskedAveragePooling1D`."
                )
        super().__init__(filters, kernel_size, strides=1, padding=padding, **kwargs)
        self.supports_masking = True

    @property
    def reach(self) -> int:
        """Number of steps from the first to the last step that a kernel covers."""
        return 1 + (self.kernel_size[0] - 1) * self.dilation_rate[0]

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        if self.padding == "valid" and inputs.shape[1] is not None and inputs.shape[1] < self.reach:
            raise ValueError(
                f"A sequence has {inputs.shape[1]} steps; the layer {self.name} needs at least "
                f'{self.reach}. Leave out shorter sequences, or use padding="same".'
            )
        if mask is not None:
            inputs = ops.where(ops.expand_dims(ops.cast(mask, "bool"), -1), inputs, 0)
        if inputs.shape[0] == 0:  # TensorFlow gives an empty batch the channels of the input
            return super().call(ops.pad(inputs, ((0, 1), (0, 0), (0, 0))))[:0]
        return super().call(inputs)

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        if previous_mask is None or self.padding == "same":
            return previous_mask
        mask, step = ops.cast(previous_mask, "bool"), self.dilation_rate[0]
        steps = ops.shape(mask)[1] - self.reach + 1
        masks = [mask[:, i * step : i * step + steps] for i in range(self.kernel_size[0])]
        return functools.reduce(ops.logical_and, masks)
