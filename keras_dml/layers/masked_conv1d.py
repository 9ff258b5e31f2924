"""Convolution layer over time that ignores masked steps."""

import functools
from typing import Any

from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor

# Allowed values of the arguments `strides` and `padding`.
OPTIONS: dict[str, tuple[Any, ...]] = {"strides": (1, (1,), [1]), "padding": ("same", "valid")}


@keras.saving.register_keras_serializable(package="keras_dml")
class MaskedConv1D(keras.layers.Conv1D):
    """Variant of `keras.layers.Conv1D` with stride 1. The layer sets masked steps to zero before
    the convolution and passes the mask on.

    Keras's own layer drops the mask, so that nonzero values leak from the padding into the
    recording in later layers. In `MaskedConv1D`, masked steps are zero, like the steps that the
    padding `"same"` adds at the ends of a recording. So padding a recording in a batch does not
    change the recording's output. With `"valid"`, an output step is valid if all input steps under
    the kernel are valid.

    Input shape: `(batch, time, channels)`. Output shape: `(batch, time, filters)`. With `"valid"`,
    the output has `(kernel_size - 1) * dilation_rate` fewer time steps.

    Args:
        filters: Number of output channels.
        kernel_size: Number of time steps that the kernel covers, without dilation.
        strides: Number of time steps between two positions of the kernel, which must be 1. The
            argument is accepted because Keras writes `strides` into the layer's configuration.
        padding: Padding of the sequences, `"same"` or `"valid"`.
        **kwargs: Further arguments of `keras.layers.Conv1D`.

    Raises:
        ValueError: If `strides` or `padding` has an invalid value, or if the padding is `"valid"`
            and a recording of known length is shorter than the kernel.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: int,
        *,
        strides: int = 1,
        padding: str = "same",
        **kwargs: Any,
    ):
        for name, value in (("strides", strides), ("padding", padding)):
            if value not in OPTIONS[name]:
                raise ValueError(
                    "`strides` of MaskedConv1D must be 1, and `padding` must be 'same' or 'valid'. "
                    f"Received {name}={value!r}. To shorten a sequence, use "
                    "`keras_dml.layers.MaskedAveragePooling1D`."
                )
        super().__init__(filters, kernel_size, strides=1, padding=padding, **kwargs)
        self.supports_masking = True

    @property
    def reach(self) -> int:
        """Number of input steps from the first to the last step under the kernel."""
        return 1 + (self.kernel_size[0] - 1) * self.dilation_rate[0]

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        if self.padding == "valid" and inputs.shape[1] is not None and inputs.shape[1] < self.reach:
            raise ValueError(
                f"A sequence has {inputs.shape[1]} steps. The layer {self.name} needs at least "
                f'{self.reach} steps. Leave out shorter sequences, or use padding="same".'
            )
        if mask is not None:
            inputs = ops.where(ops.expand_dims(ops.cast(mask, "bool"), -1), inputs, 0)
        if inputs.shape[0] == 0:  # TensorFlow would keep the input's channels
            return super().call(ops.pad(inputs, ((0, 1), (0, 0), (0, 0))))[:0]
        return super().call(inputs)

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        if previous_mask is None or self.padding == "same":
            return previous_mask
        mask, step = ops.cast(previous_mask, "bool"), self.dilation_rate[0]
        steps = ops.shape(mask)[1] - self.reach + 1
        masks = [mask[:, i * step : i * step + steps] for i in range(self.kernel_size[0])]
        return functools.reduce(ops.logical_and, masks)
