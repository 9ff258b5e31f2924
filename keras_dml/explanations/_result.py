"""An explanation: parts that sum to a distance, and the moments and channels they come from."""

from __future__ import annotations

import dataclasses

import numpy as np

TOLD = 3  # moments, parts and channels in words


@dataclasses.dataclass(frozen=True)
class Moment:
    """A span of a recording that keeps it away from the other, or makes it like the other.

    Attributes:
        recording: Name of the recording: `"a"`, `"b"` or `"probe"`.
        start: First step.
        end: Step after the last.
        part: Its part of the distance.
    """

    recording: str
    start: int
    end: int
    part: float


@dataclasses.dataclass(frozen=True, eq=False)
class Timeline:
    """A recording, and the part of the distance that each of its steps carries.

    Attributes:
        recording: Array of shape `(steps, channels)`, as it was given.
        parts: Array of shape `(steps,)` that sums to half the distance, negative where a step makes
            the recordings alike. Steps that one activation of the network stands for have the same.
        before: Steps before a moment's first that the network saw with it.
        after: Steps after a moment's last that the network saw with it.
    """

    recording: np.ndarray
    parts: np.ndarray
    before: int
    after: int


@dataclasses.dataclass(frozen=True, eq=False)
class Explanation:
    """A distance as a sum of parts. As personal as the embeddings that it compares.

    Attributes:
        distance: The distance; that of `keras_dml.distance` up to its rounding.
        parts: Array whose sum is the distance: of quantile embeddings `(filters, segments)`, of
            matrices `(channels, channels)` with the pair i, j above the diagonal and 0 below, of
            vectors `(dimensions,)`.
        labels: What each axis of `parts` counts.
        meaning: What the parts are, in a sentence.
        channels: Part of each channel, which sum to the distance; empty where a network has mixed
            them.
        timelines: `Timeline` by the name of a recording; empty where time is not known.
        rate_hz: Steps a second; None: not known.
    """

    distance: float
    parts: np.ndarray
    labels: tuple[tuple[str, ...], ...]
    meaning: str
    channels: dict[str, float] = dataclasses.field(default_factory=dict)
    timelines: dict[str, Timeline] = dataclasses.field(default_factory=dict)
    rate_hz: float | None = None

    @property
    def moments(self) -> tuple[Moment, ...]:
        """Spans whose steps carry more than the mean, largest part first: without one of them the
        recordings are closer, as far as the network keeps moments apart."""
        mean = {name: self.distance / 2 / len(line.parts) for name, line in self.timelines.items()}
        found = self._spans(lambda name, parts: parts > mean[name])
        return tuple(sorted(found, key=lambda moment: -moment.part))

    @property
    def alike(self) -> tuple[Moment, ...]:
        """Spans of negative parts, smallest first: without one of them the recordings are further
        apart."""
        found = self._spans(lambda name, parts: parts < 0)
        return tuple(sorted(found, key=lambda moment: moment.part))

    def _spans(self, chosen):
        return [
            Moment(name, start, end, float(line.parts[start:end].sum()))
            for name, line in self.timelines.items()
            for start, end in _runs(chosen(name, line.parts))
        ]

    def largest(self, count: int = TOLD) -> dict[str, float]:
        """The largest parts by what they are of, largest first whatever their sign."""
        order = np.argsort(-np.abs(self.parts), axis=None, kind="stable")[:count]
        found = {}
        for index in zip(*np.unravel_index(order, self.parts.shape), strict=True):
            names = [names[i] for names, i in zip(self.labels, index, strict=True)]
            found[", ".join(dict.fromkeys(names))] = float(self.parts[index])
        return found

    def when(self, moment: Moment) -> str:
        """A moment in words, in seconds if the rate is known."""
        if self.rate_hz is None:
            return f"steps {moment.start} to {moment.end} of {moment.recording}"
        start, end = moment.start / self.rate_hz, moment.end / self.rate_hz
        return f"{start:.2f} to {end:.2f} s of {moment.recording}"

    def __str__(self):
        channels = sorted(self.channels.items(), key=lambda one: -abs(one[1]))
        told = {
            "moments": self._when(self.moments),
            "moments that are alike": self._when(self.alike),
            "channels": dict(channels[:TOLD]),
            "parts": self.largest(),
        }
        lines = [f"distance {self.distance:.4g}, of which"]
        lines += [
            f"{name}: {'; '.join(self._told(*one) for one in parts.items())}"
            for name, parts in told.items()
            if parts
        ]
        return "\n".join([*lines, self.meaning])

    def _when(self, moments):
        return {self.when(one): one.part for one in moments[:TOLD]}

    def _told(self, name, part):
        if self.parts.min() < 0 or not self.distance:
            return f"{name} {part:+.3g}"
        return f"{name} {100 * part / self.distance:.1f} %"


def _runs(chosen):
    """Starts and ends of the runs of True."""
    steps = np.diff(np.concatenate([[0], chosen.astype(int), [0]]))
    starts, ends = (np.flatnonzero(steps == step).tolist() for step in (1, -1))
    return zip(starts, ends, strict=True)
