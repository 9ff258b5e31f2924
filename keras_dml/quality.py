"""Checks the quality of recordings with simple statistics and with a Riemannian potato (an outlier
detector).

If the model computes covariances, the potato checks the covariances of recordings. A gate combines
the statistics and the potato for one model. `gate_of` returns the gate of a model that was trained
by `keras_dml.training.train` or by a recipe of the zoo.

The checks need only NumPy. `gate_of` and `covariances_of` import Keras.
"""

from __future__ import annotations

import dataclasses
import hashlib
import pathlib
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from keras_dml._arrays import real
from keras_dml._typing import ArrayLike, Recordings
from keras_dml.fitted_potato import FittedPotato

if TYPE_CHECKING:
    from keras_dml._backend import keras

CARD_KEY, FILE = "quality", "potato.npz"
# The limits below are based on 4,700 recordings of walks, EEG trials and vowels. In these
# recordings, a channel is at its smallest or largest value for at most 4 % of the time, and all
# channels are constant together for at most 3 % of the time. The median standard deviation of a
# recording is 0.45 to 2.4 times the usual standard deviation. A recording in a wrong unit usually
# differs by a larger factor: 1 g, for example, is 9.81 m/s^2.
CLIPPED = 0.1  # fraction of the steps in which a channel is at its limit
STILL = 0.1  # fraction of the steps in which all channels are constant
STUCK = 0.25  # fraction of the steps in which one channel is constant
FLAT = 0.01  # fraction of the channel's usual standard deviation
MAGNITUDE = 5.0  # largest factor between median and usual standard deviation
# The same factor for events. A single pause of 10 s in a recording of 50 key presses increases the
# standard deviation of the times tenfold. In a wrong unit, 1 s is 1000 ms.
MAGNITUDE_OF_EVENTS = 100.0
TIMES_SHOWN = 2.0  # factor of power at which messages name the most unusual channel
BLOCK = 320  # steps of audio in a block for the crest factor, 20 ms at 16 kHz
LOUD_BLOCKS, LOUD_DB = 10, 15.0  # blocks up to 15 dB below the tenth loudest block are loud
# Audio counts as distorted if its crest factor is below a limit. The limit is this number of
# decibels below the smallest crest factor of the training recordings. For 504 recordings of 73
# voices, the smallest crest factor is 6.2 dB, so the limit is 5.7 dB. If these recordings are
# distorted by tanh(3 x / peak), 38 % of them are below the limit. If these recordings are distorted
# by tanh(10 x / peak) or clipped at a tenth of the peak, 99 % of them are below the limit.
CREST_MARGIN_DB = 0.5


@dataclasses.dataclass(frozen=True)
class Usual:
    """Properties that recordings for a model usually have, and checks that compare recordings with
    these properties.

    Attributes:
        channels: Names of the channels, in order.
        is_sound: Whether the recordings are audio. If True, unusual loudness and silence do not
            count as faults.
        stddev: Usual standard deviation of each channel, which `measured` computes. None if the
            standard deviation is unknown.
        units: Unit of each channel. None if all channels have the same unit.
        steps: Smallest number of time steps for all checks. Shorter recordings are checked only for
            missing values and constant channels, because recordings such as walks of half a second
            vary too much.
        crest_db: Smallest crest factor (peak divided by root mean square) that audio may have, in
            dB. If the crest factor is smaller, the audio counts as distorted. None if the crest
            factor is unknown.
        flags: Names of the channels that are flags, which `with_flags` detects. A flag is always 0
            or 1, and may be constant in a recording.
        events: Whether the time steps are events without a sampling rate. Events are not checked
            for clipping and for repeated values, because these faults are faults of sensors.

    Example:
        >>> usual = Usual(("x", "y")).measured([np.sin(np.arange(200.0))[:, None] * [1, 2]])
        >>> usual.reason(np.sin(np.arange(200.0))[:, None] * [1, 0])
        'channel y is flat: its value is always 0'
    """

    channels: tuple[Any, ...]
    is_sound: bool = False
    stddev: tuple[Any, ...] | None = None
    units: tuple[Any, ...] | None = None
    steps: int = 0
    crest_db: float | None = None
    flags: tuple[str, ...] = ()
    events: bool = False

    def with_flags(self, recordings: Recordings) -> Self:
        """Returns a copy that contains the names of the channels that are flags.

        A channel is a flag if recordings in which it is 0 and 1 are more frequent than recordings
        in which it has other values. Recordings in which the channel is constant do not count. The
        channels of audio are not flags.

        Args:
            recordings: Recordings, which may be invalid.

        Example:
            >>> Usual(("x", "key")).with_flags([[[0.1, 0], [0.2, 1]], [[0.3, 0], [0.1, 0]]]).flags
            ('key',)
        """
        balance = np.zeros(len(self.channels), int)
        for recording in () if self.is_sound else recordings:
            try:
                x = real("it", recording, np.float64)
            except TypeError:
                continue  # `reason` describes the fault
            if x.ndim != 2 or x.shape[1] != len(balance) or not len(x):
                continue
            is_other = (np.isfinite(x) & (x != 0) & (x != 1)).any(axis=0)
            is_flag = (x == 0).any(axis=0) & (x == 1).any(axis=0) & ~is_other
            balance += is_flag.astype(int) - (is_other & (x != x[0]).any(axis=0))
        flags = [name for name, count in zip(self.channels, balance, strict=True) if count > 0]
        return dataclasses.replace(self, flags=tuple(flags))

    def measured(self, recordings: Recordings) -> Self:
        """Returns a copy with standard deviations that are computed from the given recordings. For
        audio, the method only sets `crest_db`, to a value slightly below the smallest crest factor
        of the given recordings.

        Args:
            recordings: Arrays of shape `(time, channels)`.
        """
        if self.is_sound:
            crests = [crest for x in recordings if np.isfinite(crest := crest_factor(x))]
            bound = round(min(crests) - CREST_MARGIN_DB, 2) if crests else None
            return dataclasses.replace(self, crest_db=bound)
        stddev = np.median([np.std(x, axis=0, dtype=np.float64) for x in recordings], axis=0)
        return dataclasses.replace(self, stddev=tuple(float(f"{value:.4g}") for value in stddev))

    def reason(self, recording: ArrayLike) -> str | None:
        """Describes the fault of a recording in words. Returns None if the recording has no fault.

        Args:
            recording: Recording, shape `(time, channels)`.
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
        checks = [self._not_a_flag, self._constant]
        if len(x) >= self.steps:
            of_sensors = [] if self.events else [self._clipped, self._crest, self._still]
            checks += [self._faint, *of_sensors, self._magnitude]
        return next((reason for check in checks if (reason := check(x))), None)

    def _is_flag(self):
        return np.array([name in self.flags for name in self.channels])

    def _not_a_flag(self, x):
        is_wrong = (x != 0) & (x != 1) & self._is_flag()
        if not is_wrong.any():
            return None
        step, channel = np.argwhere(is_wrong)[0]
        return (
            f"channel {self.channels[channel]} is {x[step, channel]:.4g} in step {step}, but in "
            "other recordings it is always 0 or 1"
        )

    def _constant(self, x):
        return self._flat(x, (np.ptp(x, axis=0) == 0) & ~self._is_flag())

    def _faint(self, x):
        if self.stddev is None or self.is_sound:
            return None
        faint = (x.std(axis=0) <= FLAT * np.array(self.stddev)) & ~self._is_flag()
        for indices in self._unit_groups():
            faint[indices] &= not faint[indices].all()  # if all are faint, the unit is wrong
        return self._flat(x, faint)

    def _flat(self, x, is_flat):
        flat = np.flatnonzero(is_flat)
        if not flat.size:
            return None
        more = " ..." if flat.size > 3 else ""
        names = ", ".join(self.channels[i] for i in flat[:3]) + more
        values = ", ".join(f"{x[0, i]:.4g}" for i in flat[:3]) + more
        if flat.size == 1:
            return f"channel {names} is flat: its value is always {values}"
        return f"channels {names} are flat: their values are always {values}"

    def _clipped(self, x):
        limits = np.stack([x.min(axis=0), x.max(axis=0)])  # (2, channels)
        fractions = _fractions_in_runs(x[:, None] == limits)  # (2, channels)
        fractions[:, self._is_flag()] = 0
        for channel, i in np.argwhere(fractions.T > CLIPPED)[:1]:
            return (
                f"channel {self.channels[channel]} is clipped: its value is at the limit "
                f"{limits[i, channel]:.4g} for {100 * fractions[i, channel]:.0f} % of the time"
            )
        return None

    def _crest(self, x):
        """Detects soft clipping, and clipping that happened before a filter. These two distortions
        leave no time step at the smallest or largest value.
        """
        if self.crest_db is None:
            return None
        crest = crest_factor(x)
        if not crest < self.crest_db:
            return None
        return (
            f"it is distorted, for example by clipping: its peaks are {crest:.1f} dB above the "
            f"root mean square of its loud parts, but at least {self.crest_db:.1f} dB are expected"
        )

    def _still(self, x):
        """Detects channels that repeat one value because a sensor lost its connection."""
        if self.is_sound:
            return None
        is_repeated = np.diff(x, axis=0) == 0
        if not is_repeated.any():
            return None
        first, length = _longest_run(is_repeated.all(axis=1))
        if length > max(1, STILL * len(x)):
            return (
                f"it has a gap: all channels repeat the values of step {first} for {length:,} steps"
            )
        is_repeated[:, self._is_flag()] = False
        for name, channel in zip(self.channels, is_repeated.T, strict=True):
            first, length = _longest_run(channel)
            if length > max(1, STUCK * len(x)):
                steps = f"for {length:,} steps from step {first}"
                return f"channel {name} is stuck: its value repeats {steps}"
        return None

    def _magnitude(self, x):
        if self.stddev is None or self.is_sound:
            return None
        ratios = x.std(axis=0) / np.maximum(self.stddev, np.finfo(float).tiny)
        most = MAGNITUDE_OF_EVENTS if self.events else MAGNITUDE
        groups = self._unit_groups()
        for indices in groups:
            ratio = np.median(ratios[indices])
            if not 1 / most <= ratio <= most:
                is_all = len(indices) == len(groups[-1])
                subject = "it is" if is_all else f"its channels in {self.units[indices[0]]} are"
                factor = float(f"{ratio:.2g}")  # 1000 instead of 1e+03
                return (
                    f"{subject} {factor:g} times as strong as usual. The recording may have "
                    "another unit (1 g is 9.81 m/s^2), or may be of another kind"
                )
        return None

    def _unit_groups(self):
        """Returns one list of channel indices per unit, and then a list of all channels. There is
        no list for a unit with only one channel, because the magnitude of a single channel varies
        more. The lists do not contain flags.
        """
        units, is_measured = np.array(self.units or [""] * len(self.channels)), ~self._is_flag()
        channels = np.flatnonzero(is_measured)
        groups = [np.flatnonzero((units == unit) & is_measured) for unit in dict.fromkeys(units)]
        groups = [group for group in groups if 1 < len(group) < len(channels)]
        return [*groups, channels] if len(channels) else []


class Gate:
    """Quality gate, which rejects recordings that are unlike the training recordings of a model.

    Args:
        usual: `Usual` properties of recordings for the model.
        potato: A potato that was fitted to outputs of the model's first layer `Covariance`. None if
            the gate checks no covariances.
        covariances: Function that computes the outputs of the layer `Covariance`, shape
            `(recordings, n, n)`, from a list of recordings. None if the gate checks no covariances.
    """

    def __init__(
        self,
        usual: Usual,
        potato: FittedPotato | None = None,
        covariances: Callable[[Recordings], np.ndarray] | None = None,
    ):
        self.usual: Usual = usual
        self.potato: FittedPotato | None = potato
        self._covariances = covariances

    def refused(self, recordings: Recordings) -> dict[int, str]:
        """Returns a dictionary from the index of each rejected recording to the reason.

        Args:
            recordings: List of arrays `(time, channels)`, whose lengths the model must accept.
        """
        reasons = {i: self.usual.reason(recording) for i, recording in enumerate(recordings)}
        reasons = {i: reason for i, reason in reasons.items() if reason}
        passed = [i for i in range(len(recordings)) if i not in reasons]
        if self.potato is None or not passed:
            return reasons
        matrices = self._covariances([recordings[i] for i in passed])
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
        detail = ""
        if len(times) == len(self.usual.channels):
            factor = max(times[worst], 1 / times[worst])
            if factor >= TIMES_SHOWN:
                detail = f"; the largest difference is in channel {self.usual.channels[worst]}"
        return (
            "its channels vary together in a way that differs from all training recordings, for "
            f"example because a sensor is loose (score {score:.1f}, allowed: below "
            f"{self.potato.threshold:.1f}){detail}"
        )


def crest_factor(recording: ArrayLike) -> float:
    """Computes the crest factor (peak divided by root mean square) of the loud parts of an audio
    recording, in dB.

    The crest factor is at least 6 dB for speech, 0 dB for a square wave and 3 dB for a sine wave.
    The recording is divided into blocks of 320 steps, and the result is the median over all loud
    blocks. A block is loud if it is at most 15 dB below the tenth loudest block. The crest factor
    therefore does not depend on the loudness or on silence.

    Args:
        recording: Recording, shape `(time, channels)`. Only the first channel is used.

    Returns:
        Crest factor in dB, which is NaN for a recording that is silent or shorter than a block.

    Raises:
        ValueError: If the recording has another shape.

    Example:
        >>> round(crest_factor(np.sin(np.arange(8000.0))[:, None]), 1)
        3.0
    """
    recording = np.asarray(recording, np.float64)
    if recording.ndim != 2 or not recording.shape[1]:
        raise ValueError(
            "`recording` must have shape (time, channels), with at least one channel. Received "
            f"shape {recording.shape}. Pass one channel of audio as `audio[:, None]`."
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


def covariances_of(model: keras.Model) -> keras.Model | None:
    """Returns the part of a model up to its first layer `Covariance`, or None if the model has no
    layer `Covariance`.

    Args:
        model: A functional or sequential `keras.Model`.
    """
    from keras_dml import inputs
    from keras_dml._backend import keras
    from keras_dml.layers import Covariance

    layers = inputs.encoder(model).layers
    first = next((layer for layer in layers if isinstance(layer, Covariance)), None)
    return None if first is None else keras.Model(model.inputs[0], first.output)


def gate_of(model: keras.Model) -> Gate | None:
    """Creates the quality gate of a model from the model's card and a file with a fitted potato.

    Args:
        model: A model that `keras_dml.zoo.load` returned.

    Returns:
        `Gate`, or None if the model has no card or its card does not describe a gate.

    Raises:
        FileNotFoundError: If the potato's file is missing.
        ValueError: If the potato's file is damaged, or if its SHA-256 differs from the SHA-256 in
            the card.
    """
    from keras_dml.zoo import reading

    card = reading.card_of(model)
    entry = (card or {}).get(CARD_KEY)
    if not entry:
        return None
    channels, units = card["input"]["channels"], card["input"]["units"]
    usual = Usual(
        tuple(channels),
        entry["is_sound"],
        entry["stddev"],
        tuple(units),
        entry.get("steps", 0),
        entry.get("crest_db"),
        tuple(entry.get("flags", ())),
        entry.get("events", False),
    )
    if "sha256" not in entry:
        return Gate(usual)
    path = reading.folder_of(model) / FILE
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    if sha256 != entry["sha256"]:
        raise ValueError(
            f"{path} has the SHA-256 {sha256}, but the card in its folder contains another "
            "SHA-256. Copy the folder of the model again, or train the model again."
        )
    return Gate(usual, FittedPotato.load(path), _by_keras(covariances_of(model)))


def _by_keras(covariances):
    """Returns a function that computes the outputs of a Keras model for a list of recordings."""
    from keras_dml import inference

    def compute(recordings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # `embed` would warn of magnitudes
            return inference.embed(covariances, recordings, progress=False)

    return compute


def described(usual: Usual, potato_file: pathlib.Path | None = None) -> dict[str, Any]:
    """Returns a description of a gate, which is stored as the entry `CARD_KEY` of a model card.

    Args:
        usual: `Usual` properties of recordings for the model.
        potato_file: Path of the potato's file. By default, the gate has no potato.
    """
    entry = {"is_sound": usual.is_sound, "stddev": usual.stddev and list(usual.stddev)}
    if usual.steps:
        entry["steps"] = usual.steps
    if usual.crest_db is not None:
        entry["crest_db"] = usual.crest_db
    if usual.flags:
        entry["flags"] = list(usual.flags)
    if usual.events:
        entry["events"] = True
    if potato_file is not None:
        entry["sha256"] = hashlib.sha256(potato_file.read_bytes()).hexdigest()
    return entry


def _fractions_in_runs(values):
    """Returns the fraction of time steps that belong to runs of at least two True values. The first
    axis of `values` is time."""
    is_pair = values[:-1] & values[1:]
    is_in_run = np.zeros_like(values)
    is_in_run[:-1] = is_pair
    is_in_run[1:] |= is_pair
    return is_in_run.mean(axis=0)


def _longest_run(values):
    """Returns the start and the length of the longest run of True values."""
    edges = np.flatnonzero(np.diff(values, prepend=False, append=False))
    if not edges.size:
        return 0, 0
    starts, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - starts))
    return int(starts[longest]), int(ends[longest] - starts[longest])
