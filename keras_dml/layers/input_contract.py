"""Layer that stores the input contract of a model. The contract describes the recordings that the
model accepts."""

from collections.abc import Sequence
from typing import Any

from keras_dml._backend import keras
from keras_dml._typing import ArrayLike, Recordings, Tensor
from keras_dml.contract import Contract


@keras.saving.register_keras_serializable(package="keras_dml")
class InputContract(keras.layers.Layer):
    """Layer that stores a description of the recordings that the model accepts. The layer returns
    its input unchanged.

    Place the layer directly after the model's input. `keras_dml.embed` uses the contract to check
    the channels, length, padding and magnitude of recordings. If the caller passes a sampling rate,
    `keras_dml.embed` also checks the rate. The contract is part of the layer's configuration. So
    every `.keras` file, every part of the model and every exported file contains the contract.
    `keras_dml.models.with_contract` adds this layer to a trained model.

    Input and output shape: `(batch, time, channels)`, with or without a Keras mask.

    Args:
        channels: Names of the channels, in order.
        units: Unit of each channel, or one text for all channels.
        rate_hz: Sampling rate, in steps per second. Default: any rate.
        min_steps: Smallest number of steps of a recording.
        max_steps: Largest number of steps of a recording. Default: no limit.
        stddev_range: Smallest and largest standard deviation of training recordings in each
            channel, shape `(channels, 2)`. `adapt` can measure these standard deviations. By
            default, magnitudes are not checked. A model that standardizes each recording does not
            need the check.
        events: Whether the steps are events without a sampling rate, such as key presses.

    Raises:
        TypeError: If a number of steps is not an integer.
        ValueError: If an argument is invalid, or if the input does not have the number of channels
            that the contract names.

    Example:
        >>> contract = InputContract(["x", "y", "z"], "g", rate_hz=100, min_steps=64)
        >>> contract.adapt([np.sin(np.arange(300.0))[:, None] * [1, 2, 1]])
        >>> contract.contract.stddev_range[1]
        (1.412, 1.412)
    """

    def __init__(
        self,
        channels: Sequence[str],
        units: Sequence[str] | str,
        rate_hz: float | None = None,
        *,
        min_steps: int = 1,
        max_steps: int | None = None,
        stddev_range: ArrayLike | None = None,
        events: bool = False,
        **kwargs: Any,
    ):
        # half precision may not resolve a signal with a large offset
        super().__init__(autocast=False, **kwargs)
        self.contract = Contract(
            channels, units, rate_hz, min_steps, max_steps, stddev_range, events
        )
        self.supports_masking = True

    def build(self, input_shape: tuple[Any, ...]) -> None:
        if input_shape[-1] != len(self.contract.channels):
            raise ValueError(
                f"The contract names {len(self.contract.channels)} channels. Received inputs with "
                f"another number of channels, shape {tuple(input_shape)}."
            )

    def adapt(self, recordings: Recordings) -> None:
        """Measures, for each channel, the smallest and the largest standard deviation of training
        recordings.

        Args:
            recordings: Arrays of shape `(time, channels)`. The arrays must have the same length as
                the recordings that users will pass to the model.

        Raises:
            ValueError: If `recordings` is empty, or if the number of channels differs from the
                contract.
        """
        self.contract = self.contract.measured(recordings)

    def call(self, inputs: Tensor) -> Tensor:
        return inputs

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self.contract.as_dict()}
