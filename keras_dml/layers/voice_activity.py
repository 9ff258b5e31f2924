"""Layer that detects voice activity (VAD) by the energy of audio frames."""

from typing import Any

from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import mean, wide

# Smallest standard deviation of the level, in log units. Without this limit, rounding errors would
# decide which frames of a recording with a constant level are masked.
EVEN = 1e-2


@keras.saving.register_keras_serializable(package="keras_dml")
class VoiceActivity(keras.layers.Layer):
    """Mask that excludes the quiet frames of a recording. Quiet frames are pauses between words,
    and silence before and after speech.

    The layer is the energy-based voice activity detector (VAD) of x-vector systems (Snyder2018).
    The level of a frame is the mean of its log-mel bands. The layer keeps a frame if its level is
    at most `margin` standard deviations below the mean level of the recording. So loudness and
    microphone do not change the mask. The output equals the input. The mask of the output excludes
    the quiet frames from later pooling. The layer computes in float32 or wider under any dtype
    policy.

    Input and output shape: `(batch, frames, bands)`, with or without a Keras mask. The input can be
    the output of `LogMel`.

    Args:
        margin: How far the level of a frame may be below the mean level, in standard deviations.
            The margin must be at least 0, so that at least one frame remains.

    Raises:
        ValueError: If the margin is negative or infinite, or if the rank of the input is not 3.

    Example:
        >>> bands = np.array([[[-9.0], [3.0], [4.0], [2.0]]], "float32")
        >>> VoiceActivity().compute_mask(bands).numpy()
        array([[False,  True,  True,  True]])
    """

    def __init__(self, margin: float = 0.3, **kwargs: Any):
        super().__init__(**kwargs)
        if not 0 <= margin < float("inf"):
            raise ValueError(
                f"`margin` must be a number of at least 0. Received margin={margin!r}."
            )
        self.margin = float(margin)
        self.supports_masking = True

    def build(self, input_shape: tuple[Any, ...]) -> None:
        if len(input_shape) != 3:
            raise ValueError(
                "VoiceActivity takes log-mel bands, shape (batch, frames, bands). Received shape "
                f"{tuple(input_shape)}."
            )

    def call(self, inputs: Tensor) -> Tensor:
        return inputs + 0  # a new tensor, because `inputs` has the old mask

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        if isinstance(inputs, keras.KerasTensor):
            # While Keras builds a functional model, a mask computed here would become a constant of
            # the graph, and the model would ignore the masks of recordings.
            return previous_mask
        inputs = ops.convert_to_tensor(inputs)
        inputs = ops.cast(inputs, wide(self.variable_dtype))
        level = mean(inputs, axis=-1)  # (batch, frames)
        valid = ops.ones_like(level, dtype="bool")
        if previous_mask is not None:
            valid = ops.cast(previous_mask, "bool")
        gap = level - mean(level, axis=1, mask=valid, keepdims=True)
        variance = mean(gap * gap, axis=1, mask=valid, keepdims=True)
        stddev = ops.sqrt(variance + EVEN**2)
        return ops.logical_and(valid, gap >= -self.margin * stddev)

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "margin": self.margin}
