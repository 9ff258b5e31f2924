"""Layer that applies a network to all windows of a recording, and averages the vectors that the
network returns."""

from typing import Any, Self

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import mean
from keras_dml.geometry.vector import unit
from keras_dml.layers.head import Head, full_precision


@keras.saving.register_keras_serializable(package="keras_dml")
class WindowedMean(Head, keras.layers.Layer):
    """Mean of a network's output vectors over the windows of a recording (the d-vector of an
    utterance, Wan2018, section 2.2). The layer scales each vector and the mean to length 1.

    Window k begins at step `k * step - lead` of the recording. The layer fills steps before the
    beginning and after the end of the recording with zeros. Every recording has a first window (k =
    0). A recording has window k > 0 if the recording has at least `k * step + reach` steps.

    Input shape: `(batch, time, channels)`, with or without a Keras mask. The valid steps must come
    first. Output shape: `(batch, features)`. The output has the dtype float32 or wider under any
    dtype policy.

    Args:
        network: Built `keras.Model` that maps windows `(batch, window, channels)` of a fixed length
            to vectors `(batch, features)`.
        step: Number of steps from the beginning of one window to the beginning of the next window.
        reach: Number of steps that a recording must have after its first `k * step` steps, so that
            window k > 0 exists. `reach` is at most the length of a window.
        lead: Number of steps by which the first window begins before the recording.

    Raises:
        ValueError: If the network does not map shape `(batch, window, channels)` to shape
            `(batch, features)`, or if a number is out of range.

    Example:
        >>> network = keras.Sequential([keras.Input((4, 1)), keras.layers.Flatten()])
        >>> WindowedMean(network, step=2, reach=3)(np.array([[[3.0], [0.0], [0.0]]])).numpy()
        array([[1., 0., 0., 0.]], dtype=float32)
    """

    def __init__(
        self,
        network: keras.Model,
        step: int,
        reach: int,
        lead: int = 0,
        *,
        dtype: str | keras.DTypePolicy | None = None,
        **kwargs: Any,
    ):
        super().__init__(dtype=full_precision(dtype), **kwargs)
        shapes = network.input_shape, network.output_shape
        if list(map(len, shapes)) != [3, 2] or shapes[0][1] is None:
            raise ValueError(
                "`network` must take windows (batch, window, channels) of a fixed length and "
                "return vectors (batch, features). Received a network that maps inputs of shape "
                f"{shapes[0]} to outputs of shape {shapes[1]}."
            )
        if step < 1 or not 1 <= reach <= shapes[0][1] or not 0 <= lead < shapes[0][1]:
            raise ValueError(
                f"`step` must be positive. `reach` must be from 1 to {shapes[0][1]}, the length of "
                f"the window. `lead` must be from 0 to {shapes[0][1] - 1}. Received "
                f" step={step!r}, reach={reach!r}, lead={lead!r}."
            )
        self.network, self.window = network, shapes[0][1]
        self.step, self.reach, self.lead = int(step), int(reach), int(lead)
        self.distance = distances.Cosine()
        self.supports_masking = True

    def call(
        self, inputs: Tensor, mask: Tensor | None = None, training: bool | None = None
    ) -> Tensor:
        if mask is not None:
            inputs = ops.where(ops.expand_dims(ops.cast(mask, "bool"), 2), inputs, 0)
        windows = self.windows(inputs)
        count = ops.shape(windows)[1]
        windows = ops.reshape(windows, (-1, *windows.shape[2:]))
        vectors = unit(self.network(windows, training=training))
        vectors = ops.reshape(vectors, (-1, count, vectors.shape[-1]))
        valid = None
        if mask is not None:
            steps = ops.sum(ops.cast(mask, "int32"), axis=1, keepdims=True)  # (batch, 1)
            starts = self.step * ops.arange(count, dtype="int32")
            valid = ops.logical_or(starts == 0, steps >= starts + self.reach)
            valid = ops.expand_dims(valid, 2)
        return unit(mean(vectors, axis=1, mask=valid))

    def windows(self, inputs: Tensor) -> Tensor:
        """Returns the windows of recordings, shape `(batch, windows, window, channels)`.

        Args:
            inputs: Recordings, shape `(batch, time, channels)`.
        """
        starts = self.step * ops.arange(self._count(ops.shape(inputs)[1]), dtype="int32")
        padded = ops.pad(inputs, ((0, 0), (self.lead, self.window), (0, 0)))
        return ops.take(padded, starts[:, None] + ops.arange(self.window, dtype="int32"), axis=1)

    def _count(self, time):
        """Returns the number of windows in a recording with `time` steps. If `time` is an int, the
        result is an int."""
        further = (time - self.reach) // self.step
        return 1 + (max(further, 0) if isinstance(further, int) else ops.maximum(further, 0))

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        return None

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return (input_shape[0], self.network.output_shape[-1])

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "network": keras.saving.serialize_keras_object(self.network),
            "step": self.step,
            "reach": self.reach,
            "lead": self.lead,
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Self:
        network = keras.saving.deserialize_keras_object(
            config["network"], custom_objects=custom_objects
        )
        return cls(**{**config, "network": network})
