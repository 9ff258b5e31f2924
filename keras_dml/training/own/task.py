"""What is to be told apart: channels, rate, kind, and windows of people's recordings."""

from __future__ import annotations

import dataclasses
import math
import numbers

import numpy as np

from keras_dml.training.people import People

SEQUENCES, COVARIANCES, SOUND = KINDS = ("sequences", "covariances", "sound")
# Of voices over the telephone windows of 2 s have EER 8.6 %, of 4 s 3.8 %, in closed form.
WINDOW_SECONDS = {SEQUENCES: 10.0, COVARIANCES: 2.0, SOUND: 4.0}
TOO_SHORT = 0.05  # of the recordings, for the window that is chosen
MIN_WINDOW = 8  # steps
MANY_CHANNELS = 8  # from which on covariances tell people apart better than single channels
SOUND_HZ, STEREO = 4000, 2
GRAVITIES = (1.0, 9.81)  # in g, in m/s^2
GRAVITY_OFF = 0.15
FITTED, MEASURED = 200, 60  # most windows of a person, and of a side of a person
ADAPTED = 20  # most windows of a person
FITTED_STEPS = 400_000  # of all of these windows: sound has many


@dataclasses.dataclass(frozen=True)
class Task:
    """What a model is to be made for.

    Attributes:
        channels: Names of the channels, in order.
        units: Unit of each channel.
        rate_hz: Steps a second.
        kind: One of `KINDS`.
        window: Steps of a window.
        has_gravity: Whether the channels are an accelerometer's x, y and z with gravity.
        repeats: What enrollment and probe are parts of: `"sessions"` or `"blocks"`.
        seed: Seed of weights, batches and folds.
    """

    channels: tuple
    units: tuple
    rate_hz: float
    kind: str
    window: int
    has_gravity: bool = False
    repeats: str = "blocks"
    seed: int = 0

    @property
    def seconds(self):
        """Length of a window."""
        return self.window / self.rate_hz

    def to_fit(self, people, tempos=(1,)):
        """Windows to fit a closed form to, each half a window after the last one.

        Args:
            people: `keras_dml.training.People`.
            tempos: See `People.at_tempos`.
        """
        windows = people.at_tempos(tempos).windows(self.window, max(1, self.window // 2))
        return thinned(windows, windows.subjects, max(1, min(FITTED, FITTED_STEPS // self.window)))

    def to_adapt(self, people):
        """Windows whose statistics normalize the channels."""
        windows = people.windows(self.window)
        return thinned(windows, windows.subjects, ADAPTED).signals

    def to_measure(self, people):
        """Windows to measure on, side by side."""
        windows = people.windows(self.window)
        sides = list(zip(windows.subjects, windows.sessions, strict=True))
        return thinned(windows, sides, MEASURED)


def thinned(people, groups, count):
    """At most so many recordings of each group, evenly taken.

    Args:
        people: `keras_dml.training.People`.
        groups: Group of each recording.
        count: Most of one group.
    """
    members = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    kept = []
    for rows in members.values():
        some = np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(int)
        kept += [rows[i] for i in some]
    return people.take(sorted(kept))


def kind_of(kind, channels, rate_hz):
    """The kind of recordings: as it is given, or by their channels and rate.

    Raises:
        ValueError: If the kind is unknown, or sound has several channels.
    """
    if kind not in (*KINDS, None):
        raise ValueError(f"`kind` must be one of {KINDS}, or None. Received kind={kind!r}.")
    is_stereo = kind is None and channels == STEREO and rate_hz >= SOUND_HZ
    if is_stereo or (kind == SOUND and channels != 1):
        raise ValueError(
            f"Sound has one channel. Received {channels} at {rate_hz:g} Hz: take one of them, of "
            "files by `channels`. If it is no sound, say `kind`."
        )
    if kind is not None:
        return kind
    if channels == 1 and rate_hz >= SOUND_HZ:
        return SOUND
    return COVARIANCES if channels >= MANY_CHANNELS else SEQUENCES


def window_of(window, kind, rate_hz, lengths):
    """Steps of a window.

    Args:
        window: Seconds; None: that of the kind, or the length that nearly all recordings have.
        kind: One of `KINDS`.
        rate_hz: Steps a second.
        lengths: Steps of each recording.

    Raises:
        ValueError: If the window is no positive number, or shorter than 8 steps.
    """
    if window is None:
        reached = int(sorted(lengths)[int(len(lengths) * TOO_SHORT)])
        steps = min(reached, round(WINDOW_SECONDS[kind] * rate_hz))
    elif isinstance(window, numbers.Real) and 0 < window < math.inf:
        steps = round(window * rate_hz)
    else:
        raise ValueError(
            f"`window` must be a positive number of seconds. Received window={window!r}."
        )
    if steps < MIN_WINDOW:
        raise ValueError(
            f"A window of {steps} steps at {rate_hz:g} Hz tells nobody apart: {MIN_WINDOW} or more "
            "are needed. Give a longer `window`, or longer recordings."
        )
    return steps


def has_gravity(signals):
    """Whether recordings are x, y and z of an accelerometer with gravity, in g or m/s^2: the length
    of a recording's mean is that of gravity in nearly all of them."""
    if signals[0].shape[1] != 3:
        return False
    lengths = np.linalg.norm([signal.mean(axis=0) for signal in signals], axis=1)
    off = [np.abs(lengths / gravity - 1) for gravity in GRAVITIES]
    return bool(min(np.quantile(each, 0.9) for each in off) < GRAVITY_OFF)


def in_sides(people, files=None):
    """Divides recordings into those to enroll and those to observe, and names the parts.

    If at least half of the people have several sessions, the last session is observed. Else each
    person's recordings are halved in their order, and a single recording is cut in two.

    Args:
        people: `keras_dml.training.People`; sessions in the order of time, None where unknown.
        files: File of each recording, if files were cut into several; their recordings are parts of
            one side, unless a person has a single file.

    Returns:
        `People`, whose sessions are numbers in the order of time, and `"sessions"` or `"blocks"`.
    """
    count = {name: set() for name in people.subjects}
    for name, session in zip(people.subjects, people.sessions, strict=True):
        count[name].add(session)
    if sum(len(found) > 1 for found in count.values()) >= len(count) / 2:
        return people, "sessions"
    owned = {name: people.subjects.count(name) for name in count}
    cut, cut_files = People([], [], []), []
    files = list(range(len(people.signals))) if files is None else files
    for signal, name, session, file in zip(
        people.signals, people.subjects, people.sessions, files, strict=True
    ):
        half = len(signal) // 2
        parts = [signal[:half], signal[half:]] if owned[name] == 1 else [signal]
        cut += People(parts, [name] * len(parts), [session] * len(parts))
        cut_files += [file] * len(parts)
    return cut.halves(cut_files), "blocks"


def measurable(people, window):
    """Names of the people with a window on both sides, sorted."""
    windows = people.windows(window)
    sides = {}
    for name, session in zip(windows.subjects, windows.sessions, strict=True):
        sides.setdefault(name, set()).add(session)
    return sorted(name for name, found in sides.items() if len(found) > 1)
