"""Layer that standardizes images inside the model, by a fixed mean and a fixed standard
deviation."""

from typing import Any

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._typing import ArrayLike, Tensor
from keras_dml.geometry.numerics import wide


@keras.saving.register_keras_serializable(package="keras_dml")
class FixedNormalization(keras.layers.Layer):
    """Standardization of each channel by a fixed mean and a fixed standard deviation.

    The layer is part of the model, so the inputs of the model are images in [0, 1]. The
    perturbation budget of an adversarial attack is in the unit of these images. In contrast,
    `ChannelNormalization` measures the mean and the standard deviation on training data. The layer
    computes in float32 or wider under any dtype policy.

    Input and output shape: `(..., channels)`. The input is in [0, 1]. The output is in units of the
    standard deviation.

    Args:
        mean: Mean in the unit of the input. One number for all channels, or one number per channel.
        stddev: Standard deviation in the unit of the input. One positive number for all channels,
            or one positive number per channel.

    Raises:
        ValueError: If a number is not finite, if a standard deviation is not positive, or if an
            argument holds neither one number nor one number per channel.

    Example:
        >>> float(FixedNormalization(0.5, 0.25)(np.ones((1, 2, 2, 1)))[0, 0, 0, 0])
        2.0
    """

    def __init__(self, mean: ArrayLike = 0.5, stddev: ArrayLike = 0.5, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.mean = _numbers("mean", mean)
        self.stddev = _numbers("stddev", stddev)
        if np.min(self.stddev) <= 0:
            raise ValueError(f"`stddev` must be positive. Received stddev={stddev!r}.")
        self.supports_masking = True

    def build(self, input_shape: tuple[Any, ...]) -> None:
        for name in ("mean", "stddev"):
            count = np.size(getattr(self, name))
            if count not in (1, input_shape[-1]):
                raise ValueError(
                    f"`{name}` has {count} numbers, but the images have {input_shape[-1]} "
                    f"channels (shape {tuple(input_shape)}). Give one number, or one per channel."
                )

    def call(self, inputs: Tensor) -> Tensor:
        dtype = wide(self.variable_dtype)
        mean, stddev = np.asarray(self.mean, dtype), np.asarray(self.stddev, dtype)
        return ops.cast((ops.cast(inputs, dtype) - mean) / stddev, self.compute_dtype)

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "mean": self.mean, "stddev": self.stddev}


def _numbers(name, value):
    """Checks a number or a list of numbers, and returns a float or a list of floats."""
    numbers = np.asarray(value, np.float64)
    if numbers.ndim > 1 or not numbers.size or not np.isfinite(numbers).all():
        raise ValueError(
            f"`{name}` must be a finite number, or a list of one number per channel. Received "
            f"{value!r}."
        )
    return numbers.tolist()
