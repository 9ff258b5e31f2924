"""Explanation of a distance by moments, channels and regions."""

from __future__ import annotations

import dataclasses

import numpy as np

LISTED = 3  # number of moments, channels, regions and pairs in words


@dataclasses.dataclass(frozen=True)
class Moment:
    """Span of a recording that makes it different from, or similar to, the other recording.

    Attributes:
        recording: Name of the recording: `"a"`, `"b"` or `"probe"`.
        start: First step.
        end: Step after the last.
        part: Part of the distance; by removal: decrease of the distance without this span.
    """

    recording: str
    start: int
    end: int
    part: float


@dataclasses.dataclass(frozen=True, eq=False)
class Timeline:
    """Recording with the part of the distance that each of its steps carries.

    Attributes:
        recording: Array of shape `(steps, channels)`.
        parts: Array of shape `(steps,)` that sums to half the distance. It is negative for steps
            that make the recordings similar, and equal for steps of one activation of the network.
            By removal: the change of each span, divided evenly among its steps.
        before: Number of steps before a moment that the network used with it.
        after: Number of steps after a moment that the network used with it.
        spans: By removal: start and end of each span that was removed. Otherwise empty.
    """

    recording: np.ndarray
    parts: np.ndarray
    before: int
    after: int
    spans: tuple[tuple[int, int], ...] = ()

    def _runs(self, selected):
        """Lists starts and ends of the spans, or of the runs, whose steps are selected."""
        if self.spans:
            return [(start, end) for start, end in self.spans if selected[start]]
        steps = np.diff(np.concatenate([[0], selected.astype(int), [0]]))
        starts, ends = (np.flatnonzero(steps == step).tolist() for step in (1, -1))
        return list(zip(starts, ends, strict=True))


@dataclasses.dataclass(frozen=True, eq=False)
class Explanation:
    """Distance with the moments, channels or regions that it comes from.

    Attributes:
        distance: The distance; that of `keras_dml.distance` up to its rounding.
        parts: Array whose sum is the distance: for quantile embeddings `(filters, segments)`, for
            matrices `(channels, channels)` with the pair i, j above the diagonal and 0 below. None
            if the distance is not a sum of meaningful parts.
        labels: Labels of each axis of `parts`.
        meaning: Description of how the moments, channels and regions were computed.
        channels: Part of each channel, which sum to the distance; by removal: decrease of the
            distance without the channel. Empty if unknown.
        timelines: `Timeline` by name of the recording; empty if the parts of steps are unknown.
        rate_hz: Steps per second; None: unknown.
        by_removal: Whether moments, channels and regions are changes of the distance by removal of
            one of them at a time. Such changes do not sum to the distance.
        regions: Decrease of the distance without each region of an image, by its rows, columns and
            recording.
    """

    distance: float
    parts: np.ndarray | None
    labels: tuple[tuple[str, ...], ...]
    meaning: str
    channels: dict[str, float] = dataclasses.field(default_factory=dict)
    timelines: dict[str, Timeline] = dataclasses.field(default_factory=dict)
    rate_hz: float | None = None
    by_removal: bool = False
    regions: dict[str, float] = dataclasses.field(default_factory=dict)

    @property
    def measure(self) -> str:
        """The distance in words; a negative distance is a similarity."""
        if self.distance < 0:
            return f"similarity {-self.distance:.4g}"
        return f"distance {self.distance:.4g}"

    @property
    def moments(self) -> tuple[Moment, ...]:
        """Spans without which the recordings are closer, largest part first.

        These are the spans whose steps carry more than the mean, as far as the network separates
        moments; by removal: the spans whose removal lowered the distance.
        """
        least = {
            name: 0.0 if self.by_removal else self.distance / 2 / len(line.parts)
            for name, line in self.timelines.items()
        }
        spans = self._spans(lambda name, parts: parts > least[name])
        return tuple(sorted(spans, key=lambda moment: -moment.part))

    @property
    def alike(self) -> tuple[Moment, ...]:
        """Spans of negative parts, smallest first, without which the recordings are further
        apart."""
        spans = self._spans(lambda name, parts: parts < 0)
        return tuple(sorted(spans, key=lambda moment: moment.part))

    def _spans(self, selected):
        return [
            Moment(name, start, end, float(line.parts[start:end].sum()))
            for name, line in self.timelines.items()
            for start, end in line._runs(selected(name, line.parts))
        ]

    def largest(self, count: int | None = LISTED) -> dict[str, float]:
        """Returns the largest parts by their labels, ordered by absolute value.

        Args:
            count: Number of parts; None: all.

        Returns:
            Dict from labels to parts, which is empty if `parts` is None.
        """
        if self.parts is None:
            return {}
        order = np.argsort(-np.abs(self.parts), axis=None, kind="stable")[:count]
        largest = {}
        for index in zip(*np.unravel_index(order, self.parts.shape), strict=True):
            names = [names[i] for names, i in zip(self.labels, index, strict=True)]
            largest[", ".join(dict.fromkeys(names))] = float(self.parts[index])
        return largest

    def pairs(self, count: int = LISTED) -> dict[str, float]:
        """Returns the largest parts of pairs of channels, or an empty dict.

        Parts of filters are left out, because a filter of a network has no meaning for people.
        """
        names = tuple(self.channels)
        return self.largest(count) if names and names in self.labels else {}

    def ranked(self) -> dict[str, dict[str, float]]:
        """Returns moments, channels and regions in words, each with its part, ordered by absolute
        value.

        Items that change nothing are left out.
        """
        moments = {self.when(moment): moment.part for moment in (*self.moments, *self.alike)}
        lists = {"moments": moments, "channels": self.channels, "regions": self.regions}
        return {
            kind: dict(sorted(items, key=lambda item: -abs(item[1])))
            for kind, parts in lists.items()
            if (items := [(name, part) for name, part in parts.items() if part])
        }

    def when(self, moment: Moment) -> str:
        """Describes a moment in words, in seconds if the rate is known."""
        if self.rate_hz is None:
            return f"steps {moment.start} to {moment.end} of {moment.recording}"
        start, end = moment.start / self.rate_hz, moment.end / self.rate_hz
        return f"{start:.2f} to {end:.2f} s of {moment.recording}"

    def __str__(self):
        lines = self._changes() if self.by_removal else self._parts()
        return "\n".join([*lines, self.meaning])

    def _changes(self):
        """Returns lines with the removals that bring the recordings closer, and those that move
        them apart."""
        lines = [self.measure]
        for kind, parts in self.ranked().items():
            signs = dict.fromkeys(part > 0 for part in parts.values())  # the larger change first
            for is_closer in signs:
                items = [item for item in parts.items() if (item[1] > 0) == is_closer][:LISTED]
                text = "; ".join(f"{name} by {abs(part):.3g}" for name, part in items)
                side = "closer" if is_closer else "further apart"
                lines.append(f"{side} without these {kind}: {text}")
        if len(lines) == 1:
            lines.append("no moment, channel or region alone changes it")
        return lines

    def _parts(self):
        channels = sorted(self.channels.items(), key=lambda item: -abs(item[1]))
        lists = {
            "moments": self._when(self.moments),
            "moments that are alike": self._when(self.alike),
            "channels": dict(channels[:LISTED]),
            "pairs of channels": self.pairs(),
        }
        lines = [f"{self.measure}, of which"]
        for name, parts in lists.items():
            if parts:
                text = "; ".join(f"{label} {self._share(part)}" for label, part in parts.items())
                lines.append(f"{name}: {text}")
        return lines

    def _when(self, moments):
        return {self.when(moment): moment.part for moment in moments[:LISTED]}

    def _share(self, part):
        return f"{100 * part / self.distance:.1f} %" if self.distance else f"{part:+.3g}"
