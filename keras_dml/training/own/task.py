"""Describes a training task: kind of recordings, window length, and selection of windows."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Hashable, Sequence

import numpy as np

from keras_dml._messages import Message
from keras_dml._typing import Recordings
from keras_dml.training.people import People

SEQUENCES, COVARIANCES, SOUND = KINDS = ("sequences", "covariances", "sound")
# The equal error rate of closed-form methods on telephone speech is 8.6 % with windows of 2 s, and
# 3.8 % with windows of 4 s.
WINDOW_SECONDS = {SEQUENCES: 10.0, COVARIANCES: 2.0, SOUND: 4.0}
WINDOW_EVENTS = 50  # a sentence of keystrokes has 47 in the median
TOO_SHORT = 0.05  # largest fraction of recordings that may be shorter than the default window
MIN_WINDOW = 8  # steps
MANY_CHANNELS = 8  # with so many channels, covariances separate people better than single channels
SOUND_HZ, STEREO = 4000, 2
GRAVITIES = (1.0, 9.81)  # gravity in g and in m/s^2
GRAVITY_OFF = 0.15  # largest relative deviation of a recording's mean from gravity
# largest number of windows per person for fitting, and per person and session for measuring
FITTED, MEASURED = 200, 60
ADAPTED = 20  # largest number of windows per person for normalization
FITTED_STEPS = 400_000  # largest number of time steps in a person's audio windows for fitting


@dataclasses.dataclass(frozen=True)
class Task:
    """Describes the recordings for which a model is trained.

    Attributes:
        channels: Names of the channels, in order.
        units: Unit of each channel.
        rate_hz: Number of steps per second. None if the steps are events.
        kind: One of `KINDS`.
        window: Number of steps per window.
        has_gravity: Whether the channels are x, y and z of an accelerometer that measures gravity.
        repeats: `"sessions"` if probes and enrolled recordings come from different sessions, or
            `"blocks"` if they come from different parts of the same session.
        seed: Random seed for weights, batches and folds.
    """

    channels: tuple[str, ...]
    units: tuple[str, ...]
    rate_hz: float | None
    kind: str
    window: int
    has_gravity: bool = False
    repeats: str = "blocks"
    seed: int = 0

    @property
    def length(self) -> float:
        """Length of a window in seconds, or the number of events in a window."""
        return self.window if self.rate_hz is None else self.window / self.rate_hz

    @property
    def length_in_words(self) -> str:
        """Length of a window, such as `10 s` or `32 events`."""
        return f"{self.window} events" if self.rate_hz is None else f"{self.length:.3g} s"

    def to_fit(self, people: People, tempos: Sequence[float] = (1,)) -> People:
        """Returns windows for fitting a closed-form method. Neighboring windows overlap by half.

        Args:
            people: Complete recordings, not windows.
            tempos: See `People.at_tempos`.
        """
        windows = people.at_tempos(tempos).windows(self.window, max(1, self.window // 2))
        return thin(windows, windows.subjects, max(1, min(FITTED, FITTED_STEPS // self.window)))

    def to_adapt(self, people: People) -> list[np.ndarray]:
        """Returns windows whose statistics normalize the channels."""
        windows = people.windows(self.window)
        return thin(windows, windows.subjects, ADAPTED).signals

    def to_measure(self, people: People) -> People:
        """Returns windows without overlap, for measuring figures."""
        windows = people.windows(self.window)
        sides = list(zip(windows.subjects, windows.sessions, strict=True))
        return thin(windows, sides, MEASURED)


def thin(people: People, groups: Sequence[Hashable], count: int) -> People:
    """Selects at most `count` recordings of each group, at evenly spaced indices in the group.

    Args:
        people: `People` with the recordings to select from.
        groups: Group of each recording.
        count: Largest number of recordings per group.
    """
    members = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    selected = []
    for rows in members.values():
        places = np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(int)
        selected += [rows[i] for i in places]
    return people.take(sorted(selected))


def resolve_kind(kind: str | None, channels: int, rate_hz: float | None) -> str:
    """Returns the kind of recordings. If `kind` is None, the number of channels and the rate
    determine the kind. Events, which have no rate, are sequences.

    Raises:
        ValueError: If `kind` is unknown, if audio has several channels, or if events are not
            sequences.
    """
    if kind not in (*KINDS, None):
        raise ValueError(
            Message(
                "{kind} is {value!r}, but it must be one of {kinds}, or None.",
                value=kind,
                kinds=KINDS,
            )
        )
    if rate_hz is None:
        if kind not in (SEQUENCES, None):
            raise ValueError(
                Message(
                    "{kind} is {value!r}, but events without a rate must be {expected!r}. Leave "
                    "out {kind}.",
                    value=kind,
                    expected=SEQUENCES,
                )
            )
        return SEQUENCES
    is_stereo = kind is None and channels == STEREO and rate_hz >= SOUND_HZ
    if is_stereo or (kind == SOUND and channels != 1):
        raise ValueError(
            Message(
                "The recordings have {count} channels at {rate:g} Hz, but sound must have one "
                "channel. Select one channel. For files, set {channels}. If the recordings are "
                "not sound, set {kind}.",
                count=channels,
                rate=rate_hz,
            )
        )
    if kind is not None:
        return kind
    if channels == 1 and rate_hz >= SOUND_HZ:
        return SOUND
    return COVARIANCES if channels >= MANY_CHANNELS else SEQUENCES


def resolve_window(
    window: float | None, kind: str, rate_hz: float | None, lengths: Sequence[int]
) -> int:
    """Returns the number of steps per window.

    Args:
        window: Duration in seconds, or number of events. Default: the duration that
            `WINDOW_SECONDS` gives for the kind, or `WINDOW_EVENTS`. If nearly all recordings reach
            only a shorter length, the default is this shorter length.
        kind: One of `KINDS`.
        rate_hz: Number of steps per second. None if the steps are events.
        lengths: Number of steps of each recording.

    Raises:
        ValueError: If `window` is not a positive number or not a whole number of events, or if the
            window has fewer than 8 steps.
    """
    if window is None:
        usual = int(sorted(lengths)[int(len(lengths) * TOO_SHORT)])
        longest = WINDOW_EVENTS if rate_hz is None else round(WINDOW_SECONDS[kind] * rate_hz)
        steps = min(usual, longest)
    else:
        is_valid = isinstance(window, numbers.Real) and 0 < window < math.inf
        if not is_valid or (rate_hz is None and window != int(window)):
            raise ValueError(
                Message(
                    "{window} is {value!r}, but it must be {expected}.",
                    value=window,
                    expected="a positive number of seconds"
                    if rate_hz is not None
                    else "a positive whole number of events",
                )
            )
        steps = round(window * (rate_hz or 1))
    if steps < MIN_WINDOW:
        unit = "events" if rate_hz is None else "steps"
        raise ValueError(
            Message(
                "The window has {steps} {unit}{rate}, but at least {least} {unit} are needed to "
                "recognize people. Give a longer {window}, or longer recordings.",
                steps=steps,
                unit=unit,
                rate="" if rate_hz is None else f" at {rate_hz:g} Hz",
                least=MIN_WINDOW,
            )
        )
    return steps


def has_gravity(signals: Recordings) -> bool:
    """Returns whether signals are x, y and z of an accelerometer that measures gravity.

    The function returns True if the mean vector of nearly every recording is about as long as
    gravity (1 g or 9.81 m/s^2).
    """
    if signals[0].shape[1] != 3:
        return False
    lengths = np.linalg.norm([signal.mean(axis=0) for signal in signals], axis=1)
    deviations = [np.abs(lengths / gravity - 1) for gravity in GRAVITIES]
    return bool(min(np.quantile(each, 0.9) for each in deviations) < GRAVITY_OFF)


def split_sides(people: People, files: Sequence[Hashable] | None = None) -> tuple[People, str]:
    """Divides recordings into enrolled recordings and probes.

    If at least half of the people have several sessions, recordings of the last session are probes.
    In all other cases, the first half of each person's recordings is enrolled, and the second half
    is used as probes. If a person has a single recording, it is cut in two.

    Args:
        people: `People` with the recordings. The values in `People.sessions` increase with time. If
            a session is unknown, its value is None.
        files: File of each recording, needed if files were cut into several recordings. Recordings
            from the same file stay together, unless a person has a single file. By default, each
            recording has its own file.

    Returns:
        `People` with sessions numbered in chronological order, and the text `"sessions"` or
        `"blocks"`.
    """
    sessions = {name: set() for name in people.subjects}
    for name, session in zip(people.subjects, people.sessions, strict=True):
        sessions[name].add(session)
    if sum(len(labels) > 1 for labels in sessions.values()) >= len(sessions) / 2:
        return people, "sessions"
    counts = {name: people.subjects.count(name) for name in sessions}
    cut, cut_files = People([], [], []), []
    files = list(range(len(people.signals))) if files is None else files
    for signal, name, session, file in zip(
        people.signals, people.subjects, people.sessions, files, strict=True
    ):
        half = len(signal) // 2
        parts = [signal[:half], signal[half:]] if counts[name] == 1 else [signal]
        cut += People(parts, [name] * len(parts), [session] * len(parts))
        cut_files += [file] * len(parts)
    return cut.halves(cut_files), "blocks"


def measurable(people: People, window: int) -> list[str]:
    """Returns the sorted names of people who have a window to enroll and a window to compare."""
    windows = people.windows(window)
    sides = {}
    for name, session in zip(windows.subjects, windows.sessions, strict=True):
        sides.setdefault(name, set()).add(session)
    return sorted(name for name, sessions in sides.items() if len(sessions) > 1)
