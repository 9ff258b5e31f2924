"""Whether a recording is fit to be compared, and if not why: plain checks, and a potato on the
covariances of a model that takes them.

`of` gives the gate of a model that `keras_dml.training.train` or a recipe of the zoo made.
"""

from __future__ import annotations

import dataclasses
import hashlib
import warnings

import numpy as np

from keras_dml import inference, inputs
from keras_dml._arrays import real
from keras_dml._backend import keras
from keras_dml.layers import Covariance
from keras_dml.potato import Potato
from keras_dml.zoo import reading

CARD_KEY, FILE = "quality", "potato.npz"
# Walks, EEG trials and vowels of 4,700 recordings: a channel is at its own limit for at most 4 % of
# the time, all channels stand still together for 3 %, and a recording's median deviation is 0.45 to
# 2.4 times the usual one; 1 g is 9.81 m/s^2.
CLIPPED = 0.1  # of the steps
STILL = 0.1  # of the steps, all channels
STUCK = 0.25  # of the steps, one channel
FLAT = 0.01  # of the channel's usual standard deviation
MAGNITUDE = 5.0
TIMES_SHOWN = 2.0  # from which factor on a channel is named as the unlike one
BLOCK = 320  # steps of sound, 20 ms at 16 kHz, in which a crest factor is measured
LOUD_BLOCKS, LOUD_DB = 10, 15.0  # the level of speech; blocks at most so far below it count
# Decibels below the smallest crest factor of training recordings. That of 504 recordings of 73
# voices is 6.2 dB; 38 % of these recordings are below 5.7 dB after tanh(3 x / peak), 99 % after
# tanh(10 x / peak) or after clipping at a tenth of the peak.
CREST_MARGIN_DB = 0.5


@dataclasses.dataclass(frozen=True)
class Usual:
    """What recordings of one kind are usually like, and what is wrong with one that is not.

    Attributes:
        channels: Names of the channels, in order.
        is_sound: Whether they are sound, whose loudness and silence say nothing of its quality.
        stddev: Usual standard deviation of each channel, see `measured`; None: not known.
        units: Unit of each channel; None: one for all.
        steps: Steps from which on a recording is judged by shares of its time and by its magnitude:
            walks of half a second differ too much.
        crest_db: Smallest crest factor of sound that is not distorted, in dB, see `crest_factor`;
            None: not known.

    Example:
        >>> usual = Usual(("x", "y")).measured([np.sin(np.arange(200.0))[:, None] * [1, 2]])
        >>> usual.reason(np.sin(np.arange(200.0))[:, None] * [1, 0])
        'channel y is flat: it stands at 0'
    """

    channels: tuple
    is_sound: bool = False
    stddev: tuple | None = None
    units: tuple | None = None
    steps: int = 0
    crest_db: float | None = None

    def measured(self, recordings):
        """Returns a copy with the usual deviations of some recordings, and of sound with the bound
        of the crest factor.

        Args:
            recordings: Arrays of shape `(time, channels)`.
        """
        if self.is_sound:
            crests = [crest for x in recordings if np.isfinite(crest := crest_factor(x))]
            bound = round(min(crests) - CREST_MARGIN_DB, 2) if crests else None
            return dataclasses.replace(self, crest_db=bound)
        found = np.median([np.std(x, axis=0, dtype=np.float64) for x in recordings], axis=0)
        return dataclasses.replace(self, stddev=tuple(float(f"{value:.4g}") for value in found))

    def reason(self, recording) -> str | None:
        """What is wrong with a recording, in words; None where nothing is.

        Args:
            recording: Shape `(time, channels)`.
        """
        try:
            x = real("it", recording, np.float64)
        except TypeError as error:
            return str(error)
        if x.ndim != 2 or x.shape[1] != len(self.channels) or not len(x):
            return f"it has shape {x.shape}, not (time, {len(self.channels)})"
        with np.errstate(over="ignore"):
            bad = ~np.isfinite(x.astype(np.float32))
        if bad.any():
            step, channel = np.argwhere(bad)[0]
            return (
                f"it has gaps: {bad.any(axis=1).sum():,} of {len(x):,} steps hold NaN or infinity, "
                f"first step {step} of channel {self.channels[channel]}"
            )
        checks = [self._constant]
        if len(x) >= self.steps:
            checks += [self._faint, self._clipped, self._crest, self._still, self._magnitude]
        return next((reason for check in checks if (reason := check(x))), None)

    def _constant(self, x):
        return self._flat(x, np.ptp(x, axis=0) == 0)

    def _faint(self, x):
        if self.stddev is None or self.is_sound:
            return None
        faint = x.std(axis=0) <= FLAT * np.array(self.stddev)
        for kind in self._kinds():
            faint[kind] &= not faint[kind].all()  # all of them are of another unit
        return self._flat(x, faint)

    def _flat(self, x, which):
        flat = np.flatnonzero(which)
        if not flat.size:
            return None
        named = ", ".join(self.channels[i] for i in flat[:3]) + (" ..." if flat.size > 3 else "")
        return f"channel {named} is flat: it stands at {x[0, flat[0]]:.4g}"

    def _clipped(self, x):
        for name, channel in zip(self.channels, x.T, strict=True):
            for limit in (channel.min(), channel.max()):
                share = _in_runs(channel == limit)
                if share > CLIPPED:
                    return (
                        f"channel {name} is clipped: it stands at {limit:.4g}, its limit, for "
                        f"{100 * share:.0f} % of the time"
                    )
        return None

    def _crest(self, x):
        """Soft clipping and clipping before a filter leave no step at a limit."""
        if self.crest_db is None:
            return None
        crest = crest_factor(x)
        if not crest < self.crest_db:
            return None
        return (
            f"it is distorted, as by clipping: its peaks are {crest:.1f} dB above the root mean "
            f"square of its loud parts, those of usual recordings {self.crest_db:.1f} dB or more"
        )

    def _still(self, x):
        """A sensor that repeats its last values has lost the connection."""
        if self.is_sound:
            return None
        same = np.diff(x, axis=0) == 0
        first, length = _longest_run(same.all(axis=1))
        if length > max(1, STILL * len(x)):
            return f"all channels repeat the values of step {first} for {length:,} steps: a gap"
        for name, one in zip(self.channels, same.T, strict=True):
            first, length = _longest_run(one)
            if length > max(1, STUCK * len(x)):
                return f"channel {name} is stuck from step {first} on for {length:,} steps"
        return None

    def _magnitude(self, x):
        if self.stddev is None or self.is_sound:
            return None
        ratios = x.std(axis=0) / np.maximum(self.stddev, np.finfo(float).tiny)
        for kind in self._kinds():
            ratio = np.median(ratios[kind])
            if not 1 / MAGNITUDE <= ratio <= MAGNITUDE:
                is_all = len(kind) == len(ratios)
                what = "it is" if is_all else f"its channels in {self.units[kind[0]]} are"
                return (
                    f"{what} {ratio:.2g} times as strong as usual: another unit (1 g is "
                    "9.81 m/s^2), or nothing that the others show"
                )
        return None

    def _kinds(self):
        """Indices of the channels of each unit that several have, since a single one varies more,
        and last of all channels."""
        units = np.array(self.units or [""] * len(self.channels))
        kinds = [np.flatnonzero(units == unit) for unit in dict.fromkeys(units)]
        several = [kind for kind in kinds if 1 < len(kind) < len(units)]
        return [*several, np.arange(len(units))]


class Gate:
    """Refuses recordings that are unlike those of a model's training.

    Args:
        model: A `keras.Model` of recordings.
        usual: `Usual`.
        potato: A fitted `Potato` on the outputs of the model's first `Covariance`; None for none.
    """

    def __init__(self, model, usual, potato=None):
        self.usual, self.potato = usual, potato
        self._covariances = None if potato is None else covariances_of(model)

    def refused(self, recordings) -> dict[int, str]:
        """Why some recordings should not be compared, by their index.

        Args:
            recordings: List of arrays `(time, channels)`, of lengths that the model takes.
        """
        reasons = {i: self.usual.reason(recording) for i, recording in enumerate(recordings)}
        reasons = {i: reason for i, reason in reasons.items() if reason}
        passed = [i for i in range(len(recordings)) if i not in reasons]
        if self.potato is None or not passed:
            return reasons
        taken = [recordings[i] for i in passed]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of magnitudes, which `embed` gives
            matrices = inference.embed(self._covariances, taken, progress=False)
        scores = self.potato.transform(matrices)
        return reasons | {
            i: self._unlike(matrix, score)
            for i, matrix, score in zip(passed, matrices, scores, strict=True)
            if not score < self.potato.threshold
        }

    def _unlike(self, matrix, score):
        power, usual = np.diag(matrix), np.diag(self.potato.center_)
        times = np.maximum(power, np.finfo(np.float32).tiny) / usual
        worst = int(np.argmax(np.abs(np.log(times))))
        named = ""
        if len(times) == len(self.usual.channels):
            factor = max(times[worst], 1 / times[worst])
            if factor >= TIMES_SHOWN:
                named = f"; most of all channel {self.usual.channels[worst]}"
        return (
            "its channels move together as in no recording of training, as with a loose sensor or "
            f"a disturbance (score {score:.1f}, at most {self.potato.threshold:.1f}){named}"
        )


def crest_factor(recording):
    """Computes the crest factor of the loud parts of sound: peak over root mean square, in dB.

    Speech has 6 dB or more, a square wave 0 dB, a sine 3 dB. The result is the median over the
    blocks of 320 steps that are at most 15 dB below the tenth loudest block, so neither loudness
    nor silence counts.

    Args:
        recording: Shape `(time, channels)`; the first channel counts.

    Returns:
        Number; NaN for a recording without sound or shorter than a block.

    Raises:
        ValueError: If the recording has another shape.

    Example:
        >>> round(crest_factor(np.sin(np.arange(8000.0))[:, None]), 1)
        3.0
    """
    recording = np.asarray(recording, np.float64)
    if recording.ndim != 2 or not recording.shape[1]:
        raise ValueError(
            "`recording` must have shape (time, channels), with a channel or more. Received shape "
            f"{recording.shape}. Sound of one channel is `sound[:, None]`."
        )
    sound = recording[:, 0]
    blocks = sound[: len(sound) // BLOCK * BLOCK].reshape(-1, BLOCK)
    if not len(blocks):
        return np.nan
    blocks = blocks - blocks.mean(axis=1, keepdims=True)
    power = np.mean(blocks**2, axis=1)
    loud = np.sort(power)[-min(LOUD_BLOCKS, len(power))]
    is_loud = (power >= loud * 10 ** (-LOUD_DB / 10)) & (power > 0)
    if not is_loud.any():
        return np.nan
    peaks = np.abs(blocks[is_loud]).max(axis=1)
    return float(np.median(20 * np.log10(peaks / np.sqrt(power[is_loud]))))


def covariances_of(model):
    """The part of a model up to its first `Covariance`, as a model; None where it has none.

    Args:
        model: A functional or sequential `keras.Model`.
    """
    layers = inputs.encoder(model).layers
    first = next((layer for layer in layers if isinstance(layer, Covariance)), None)
    return None if first is None else keras.Model(model.inputs[0], first.output)


def of(model):
    """The gate of a model, by its card and the file beside it.

    Args:
        model: A model that `keras_dml.zoo.load` has read.

    Returns:
        `Gate`; None for a model whose card has none.

    Raises:
        FileNotFoundError: If the file that the card names is missing.
        ValueError: If it is another one, or damaged.
    """
    card = reading.card_of(model)
    described = (card or {}).get(CARD_KEY)
    if not described:
        return None
    channels, units = card["input"]["channels"], card["input"]["units"]
    usual = Usual(
        tuple(channels),
        described["is_sound"],
        described["stddev"],
        tuple(units),
        described.get("steps", 0),
        described.get("crest_db"),
    )
    if "sha256" not in described:
        return Gate(model, usual)
    path = reading.folder_of(model) / FILE
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != described["sha256"]:
        raise ValueError(
            f"{path} is not the file that the card beside it describes: its SHA-256 is {found}. "
            "Copy the folder of the model again, or train it again."
        )
    return Gate(model, usual, Potato.load(path))


def described(usual, potato_file=None):
    """What a card says of the gate, under `CARD_KEY`.

    Args:
        usual: `Usual`.
        potato_file: `pathlib.Path` of the potato's file; None for none.
    """
    found = {"is_sound": usual.is_sound, "stddev": usual.stddev and list(usual.stddev)}
    if usual.steps:
        found["steps"] = usual.steps
    if usual.crest_db is not None:
        found["crest_db"] = usual.crest_db
    if potato_file is not None:
        found["sha256"] = hashlib.sha256(potato_file.read_bytes()).hexdigest()
    return found


def _in_runs(at):
    """Share of the steps where a boolean array is true beside another true one."""
    beside = np.r_[False, at[:-1]] | np.r_[at[1:], False]
    return (at & beside).mean()


def _longest_run(at):
    """Start and length of the longest run of true values."""
    edges = np.flatnonzero(np.diff(np.r_[False, at, False].astype(np.int8)))
    if not edges.size:
        return 0, 0
    starts, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - starts))
    return int(starts[longest]), int(ends[longest] - starts[longest])
