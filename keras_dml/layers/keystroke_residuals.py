"""Layer that compares the times of key presses with the usual times of the same keys."""

from typing import Any

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._typing import Recordings, Tensor
from keras_dml.geometry.numerics import absolute, wide
from keras_dml.layers._keyboard import KEYS, ROWS

TIMES = 3  # hold time, time from press to press, time from release to press
CHANNELS = 2 * TIMES + 2 * ROWS
# Shortest and longest hold time and time from press to press, in seconds. Longer times are pauses,
# and longer hold times are mostly lost releases (Dhakal2018).
HOLD_RANGE, GAP_RANGE = (0.01, 1.0), (0.005, 3.0)
FLIGHT_UNIT = 0.05  # seconds below which the scale of the time from release to press is linear
LOWEST, HIGHEST = (-1.5, -1.5, -2.5), (1.5, 2.0, 3.0)  # limits of the residuals
SHRINKAGE = 20  # number of imaginary key presses with the mean time, in each mean of the tables
BATCH = 256


@keras.saving.register_keras_serializable(package="keras_dml")
class KeystrokeResiduals(keras.layers.Layer):
    """Differences between the times of key presses and the mean times of the same keys in training
    data. The differences describe the person and depend less on the text than the times do.

    The layer uses three times per key press: the logarithm of the hold time, the logarithm of the
    time since the press of the previous key, and the time since the release of the previous key on
    a scale that is linear near 0 and logarithmic far from 0. This time is negative if the previous
    key is still down. `adapt` measures the mean of the first time for each key, and the means of
    the other two times for each pair of consecutive keys. The means of rare keys and pairs are
    shrunk toward the means of more frequent ones.

    Input shape: `(batch, time, 3)`, one step per key press, with or without a Keras mask. The
    channels are the hold time and the time since the previous press in seconds, and the key code of
    JavaScript. A time of 0 is unknown.

    Output shape: `(batch, time, 76)`. Channels 0 to 2 are the three differences, which are 0 if the
    time is unknown. Channels 3 to 5 are 1 for known times and 0 for unknown times. The next 35
    channels are 1 for the pressed key and 0 for other keys. The last 35 channels describe the
    previous key in the same way. Masked steps are 0.

    Raises:
        ValueError: If the input does not have three channels.

    Example:
        >>> layer = KeystrokeResiduals()
        >>> typed = np.array([[0.1, 0.0, 84], [0.1, 0.2, 72], [0.2, 0.3, 69]])
        >>> layer.adapt([typed])
        >>> layer(typed[None])[0, :, 0].numpy().round(2)
        array([-0.22, -0.22,  0.44], dtype=float32)
    """

    def __init__(self, **kwargs: Any):
        # half precision does not resolve key codes
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True

    def build(self, input_shape: tuple[Any, ...]) -> None:
        if len(input_shape) != 3 or input_shape[-1] != 3:
            raise ValueError(
                "KeystrokeResiduals takes key presses with hold time, time since the previous "
                "press and key code, shape (batch, time, 3). Received shape "
                f"{tuple(input_shape)}."
            )
        fixed = {"initializer": "zeros", "trainable": False, "autocast": False}
        self.holds = self.add_weight(name="holds", shape=(ROWS, 1), **fixed)
        self.gaps = self.add_weight(name="gaps", shape=(ROWS, ROWS), **fixed)
        self.flights = self.add_weight(name="flights", shape=(ROWS, ROWS), **fixed)

    def adapt(self, recordings: Recordings) -> None:
        """Measures the mean times of keys and of pairs of keys.

        Args:
            recordings: Arrays of shape `(time, 3)`.

        Raises:
            ValueError: If `recordings` is empty, or if a recording has a wrong shape.
        """
        recordings = [np.asarray(recording, np.float32) for recording in recordings]
        if not recordings:
            raise ValueError("`recordings` is empty. Give at least one array of shape (time, 3).")
        if not self.built:
            self.build((None, *recordings[0].shape))
        totals, counts = np.zeros((2, TIMES, ROWS, ROWS))  # rows: previous key, columns: key
        order = sorted(recordings, key=len)
        for i in range(0, len(order), BATCH):
            times, is_known, keys, previous = map(
                ops.convert_to_numpy, self._presses(*_padded(order[i : i + BATCH]))
            )
            # The first key of a recording has a hold time but no previous key.
            before = np.stack([np.full_like(previous, 1 / ROWS), previous, previous])
            before *= np.moveaxis(is_known, -1, 0)[..., None]
            counts += np.einsum("nbtp,btk->npk", before, keys, optimize=True)
            before *= np.moveaxis(times, -1, 0)[..., None]
            totals += np.einsum("nbtp,btk->npk", before, keys, optimize=True)
        overall = totals.sum(axis=(1, 2)) / np.maximum(counts.sum(axis=(1, 2)), 1)
        of_keys = _shrunk(totals.sum(axis=1), counts.sum(axis=1), overall[:, None])
        of_pairs = _shrunk(totals, counts, of_keys[:, None])
        self.holds.assign(of_keys[0][:, None])
        self.gaps.assign(of_pairs[1])
        self.flights.assign(of_pairs[2])

    def _presses(self, inputs, mask):
        """Returns the three times, shape `(batch, time, 3)`, whether they are known, and the
        one-hot codes of the key and of the previous key, shape `(batch, time, 35)`.
        """
        x = ops.cast(inputs, wide(self.variable_dtype))
        if mask is not None:
            x = ops.where(ops.expand_dims(ops.cast(mask, "bool"), -1), x, 0)
        codes = ops.convert_to_tensor(KEYS, x.dtype)
        hold, gap, code = ops.split(x, 3, axis=-1)
        keys = ops.cast(ops.equal(ops.round(code), codes), x.dtype)
        keys = ops.concatenate([keys, 1 - ops.sum(keys, axis=-1, keepdims=True)], axis=-1)
        if mask is not None:
            keys = keys * ops.expand_dims(ops.cast(mask, x.dtype), -1)
        previous = _previous(keys)
        follows = ops.sum(previous, axis=-1, keepdims=True)
        has_hold = ops.cast(hold > 0, x.dtype)
        has_gap = ops.cast(gap > 0, x.dtype) * follows
        flight = ops.clip(gap - _previous(hold), -GAP_RANGE[1], GAP_RANGE[1])
        times = [
            ops.log(ops.clip(hold, *HOLD_RANGE)),
            ops.log(ops.clip(gap, *GAP_RANGE)),
            ops.sign(flight) * ops.log(1 + absolute(flight) / FLIGHT_UNIT),
        ]
        is_known = [has_hold, has_gap, has_gap * _previous(has_hold)]
        return ops.concatenate(times, -1), ops.concatenate(is_known, -1), keys, previous

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        times, is_known, keys, previous = self._presses(inputs, mask)
        pairs = [
            ops.sum(ops.matmul(previous, table) * keys, axis=-1, keepdims=True)
            for table in (self.gaps, self.flights)
        ]
        usual = ops.concatenate([ops.matmul(keys, self.holds), *pairs], axis=-1)
        low, high = (ops.convert_to_tensor(limit, times.dtype) for limit in (LOWEST, HIGHEST))
        residuals = ops.clip(times - usual, low, high) * is_known
        outputs = ops.concatenate([residuals, is_known, keys, previous], axis=-1)
        return ops.cast(outputs, self.compute_dtype)

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*input_shape[:-1], CHANNELS)


def _previous(x):
    """Shifts a sequence by one step. The first step becomes 0."""
    return ops.concatenate([ops.zeros_like(x[:, :1]), x[:, :-1]], axis=1)


def _padded(recordings):
    """Returns recordings as one batch, shape `(batch, time, 3)`, and its mask."""
    lengths = np.array([len(recording) for recording in recordings])
    batch = np.zeros((len(recordings), lengths.max(), 3), np.float32)
    for row, recording in zip(batch, recordings, strict=True):
        row[: len(recording)] = recording
    return batch, np.arange(lengths.max()) < lengths[:, None]


def _shrunk(total, count, toward):
    """Returns means that are shrunk toward other means, as if `SHRINKAGE` further key presses had
    these other means.
    """
    return (total + SHRINKAGE * toward) / (count + SHRINKAGE)
