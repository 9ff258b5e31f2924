"""The input contract of a model, as a layer of it."""

from keras_dml._backend import keras
from keras_dml.contract import Contract


@keras.saving.register_keras_serializable(package="keras_dml")
class InputContract(keras.layers.Layer):
    """Passes recordings on as they are, and carries what the model takes.

    It belongs right behind the model's input. `keras_dml.embed` checks recordings by it: their
    rate, where it is given, their channels, their length, padding and magnitude. The contract is
    part of the configuration, so it is in the `.keras` file, in parts of the model and in exported
    files. `keras_dml.models.with_contract` puts it into a model that is trained already.

    Input and output shape: `(batch, time, channels)`, with or without a Keras mask.

    Args:
        channels: Names of the channels, in order.
        units: Unit of each channel, or one text for all.
        rate_hz: Steps a second; None: any.
        min_steps: Smallest number of steps of a recording.
        max_steps: Largest number of steps; None: no limit.
        stddev_range: Smallest and largest standard deviation of a training recording in each
            channel, shape `(channels, 2)`; see `adapt`. None: magnitudes are not compared, as for a
            model that standardizes each recording.

    Raises:
        TypeError: If a number of steps is not an integer.
        ValueError: If an argument is impossible, or the input has another number of channels.

    Example:
        >>> contract = InputContract(["x", "y", "z"], "g", rate_hz=100, min_steps=64)
        >>> contract.adapt([np.sin(np.arange(300.0))[:, None] * [1, 2, 1]])
        >>> contract.contract.stddev_range[1]
        (1.412, 1.412)
    """

    def __init__(
        self,
        channels,
        units,
        rate_hz=None,
        *,
        min_steps=1,
        max_steps=None,
        stddev_range=None,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)  # an offset may be beyond half precision
        self.contract = Contract(channels, units, rate_hz, min_steps, max_steps, stddev_range)
        self.supports_masking = True

    def build(self, input_shape):
        if input_shape[-1] != len(self.contract.channels):
            raise ValueError(
                f"The contract names {len(self.contract.channels)} channels. Received inputs of "
                f"shape {tuple(input_shape)}."
            )

    def adapt(self, recordings):
        """Measures the magnitude of each channel, as the range of the standard deviations of
        training recordings.

        Args:
            recordings: Arrays of shape `(time, channels)`, as long as those that the model will be
                given.

        Raises:
            ValueError: If there are none, or one has another number of channels.
        """
        self.contract = self.contract.measured(recordings)

    def call(self, inputs):
        return inputs

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), **self.contract.as_dict()}
