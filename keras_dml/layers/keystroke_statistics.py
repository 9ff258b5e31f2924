"""Layer that describes how a person types by quantiles and means of the times of key presses."""

from typing import Any

import numpy as np

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry import quantile
from keras_dml.geometry.numerics import divide, nan_unless, wide
from keras_dml.layers import _keyboard
from keras_dml.layers._keyboard import GROUP_OF_ROW, GROUPS, ROWS
from keras_dml.layers.head import Head, full_precision
from keras_dml.layers.keystroke_residuals import CHANNELS, TIMES

KNOTS = (0.05, 0.15, 0.25, 0.35, 0.5, 0.65, 0.75, 0.85, 0.95)
DISTRIBUTIONS = 11  # see `KeystrokeStatistics._distributions`
FEATURES = DISTRIBUTIONS * len(KNOTS) + ROWS + 2 * GROUPS**2
SHRINKAGE = 4  # number of imaginary key presses with the person's mean time, in each mean


@keras.saving.register_keras_serializable(package="keras_dml")
class KeystrokeStatistics(Head, keras.layers.Layer):
    """Quantiles and means of the times of key presses. The layer returns one vector per recording,
    and the distance between two vectors is their Euclidean distance.

    The vector contains the quantiles of eleven distributions: hold times of all keys, of letters
    and of the space bar; and, for each of the two times between keys, all pairs of keys, pairs of
    letters, pairs that end with a space, and pairs that begin with a space. If a recording has no
    such pair, the layer uses all pairs. Then follow means of the hold times of each key, and means
    of the two times between keys for each pair of fingers. These means are differences from the
    mean of the recording, and are shrunk toward 0 if the recording has only few such key presses.

    Input shape: `(batch, time, 76)`, the output of `KeystrokeResiduals`, with or without a Keras
    mask. Output shape: `(batch, 422)`. The output has the dtype float32 or wider under any dtype
    policy. A recording without a valid step gives NaN.

    Raises:
        ValueError: If the input does not have 76 channels.

    Example:
        >>> from keras_dml.layers import KeystrokeResiduals
        >>> residuals = KeystrokeResiduals()(np.array([[[0.1, 0.0, 84], [0.2, 0.2, 72]]]))
        >>> KeystrokeStatistics()(residuals)[0, :3].numpy().round(2)
        array([-1.5, -1.5, -1.5], dtype=float32)
    """

    def __init__(self, *, dtype: str | keras.DTypePolicy | None = None, **kwargs: Any):
        super().__init__(dtype=full_precision(dtype), **kwargs)
        self.distance = distances.Euclidean()
        self.supports_masking = True

    def build(self, input_shape: tuple[Any, ...]) -> None:
        if len(input_shape) != 3 or input_shape[-1] != CHANNELS:
            raise ValueError(
                f"KeystrokeStatistics takes the outputs of KeystrokeResiduals, shape (batch, time, "
                f"{CHANNELS}). Received shape {tuple(input_shape)}."
            )

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        x = ops.cast(inputs, wide(self.variable_dtype))
        valid = (
            ops.ones_like(x[:, :, :1])
            if mask is None
            else ops.expand_dims(ops.cast(mask, x.dtype), -1)
        )
        x = ops.where(valid > 0, x, 0)
        ends = TIMES, 2 * TIMES, 2 * TIMES + ROWS
        residuals, is_known, keys, previous = ops.split(x, ends, axis=-1)
        means = divide(
            ops.sum(residuals, axis=1, keepdims=True), ops.sum(is_known, axis=1, keepdims=True)
        )
        centered = (residuals - means) * is_known
        features = ops.concatenate(
            [
                _quantiles(*self._distributions(residuals, is_known, keys, previous)),
                _key_means(keys, centered, is_known),
                _finger_means(keys, previous, centered[:, :, 1:2], is_known[:, :, 1:2]),
                _finger_means(keys, previous, centered[:, :, 2:], is_known[:, :, 2:]),
            ],
            axis=-1,
        )
        return nan_unless(ops.any(valid > 0, axis=1), features)

    def _distributions(self, residuals, is_known, keys, previous):
        """Returns the values and the members of the distributions. Both have shape `(batch, time,
        distributions)`. The first distribution of each time has all key presses as members.
        """
        letters, space = slice(0, len(_keyboard.LETTERS)), len(_keyboard.LETTERS)
        is_letter = ops.sum(keys[:, :, letters], axis=-1, keepdims=True)
        after_letter = ops.sum(previous[:, :, letters], axis=-1, keepdims=True)
        is_space, after_space = keys[:, :, space : space + 1], previous[:, :, space : space + 1]
        everything = ops.ones_like(is_space)
        between = [everything, is_letter * after_letter, is_space, after_space]
        kinds = [[everything, is_letter, is_space], between, between]
        values, members = [], []
        for time, kinds_of_time in enumerate(kinds):
            has_time = is_known[:, :, time : time + 1]
            for kind in kinds_of_time:
                is_member = has_time * kind
                is_empty = ops.sum(is_member, axis=1, keepdims=True) == 0
                values.append(residuals[:, :, time : time + 1])
                members.append(ops.where(is_empty, has_time, is_member))
        return ops.concatenate(values, axis=-1), ops.concatenate(members, axis=-1)

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        return None

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return (input_shape[0], FEATURES)


def _quantiles(values, members):
    """Computes the quantiles of each distribution, shape `(batch, distributions * knots)`. The
    quantiles of a distribution without members are 0.
    """
    is_empty = ops.sum(members, axis=1, keepdims=True) == 0
    # the first step has the value 0 if the time is unknown for all steps
    first = ops.concatenate([ops.ones_like(members[:, :1]), ops.zeros_like(members[:, 1:])], axis=1)
    members = ops.where(is_empty, first, members)
    values, members = (
        ops.reshape(ops.transpose(x, (0, 2, 1)), (-1, ops.shape(x)[1])) for x in (values, members)
    )  # (batch * distributions, time)
    result = quantile.quantiles(ops.expand_dims(values, -1), np.array(KNOTS), members > 0)
    return ops.reshape(result, (-1, DISTRIBUTIONS * len(KNOTS)))


def _key_means(keys, centered, is_known):
    """Computes the shrunk mean hold time of each key, shape `(batch, keys)`."""
    total = ops.sum(keys * centered[:, :, :1], axis=1)
    return total / (ops.sum(keys * is_known[:, :, :1], axis=1) + SHRINKAGE)


def _finger_means(keys, previous, centered, is_known):
    """Computes the shrunk mean time of each pair of fingers, shape `(batch, pairs)`."""
    fingers = np.eye(GROUPS, dtype="float32")[list(GROUP_OF_ROW)]  # (keys, fingers)
    fingers = ops.cast(fingers, centered.dtype)
    finger, before = ops.matmul(keys, fingers), ops.matmul(previous, fingers)
    total, count = (
        ops.matmul(ops.transpose(before * weights, (0, 2, 1)), finger)
        for weights in (centered, is_known)
    )
    return ops.reshape(total / (count + SHRINKAGE), (-1, GROUPS**2))
