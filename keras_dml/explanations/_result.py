"""Defines classes that hold the explanation of a distance by moments, channels and regions."""

from __future__ import annotations

import dataclasses

import numpy as np

LISTED = 3  # number of moments, channels, regions and pairs that a text lists


@dataclasses.dataclass(frozen=True)
class Moment:
    """Span of a recording that makes the two recordings different or similar.

    Attributes:
        recording: Name of the recording: `"a"`, `"b"` or `"probe"`.
        start: First time step.
        end: Last time step plus one.
        part: Part of the distance that belongs to the span. In explanations by removal, `part` is
            the amount by which the distance decreases if the span is removed.
    """

    recording: str
    start: int
    end: int
    part: float


@dataclasses.dataclass(frozen=True, eq=False)
class Timeline:
    """Recording with the part of the distance that belongs to each time step.

    Attributes:
        recording: Recording, shape `(steps, channels)`.
        parts: Part of the distance that belongs to each time step, shape `(steps,)`. The parts sum
            to half of the distance. A part is negative if the time step makes the recordings
            similar. Time steps that belong to one activation of the network have equal parts. In
            explanations by removal, the change of the distance that each span causes is divided
            evenly among the time steps of the span.
        before: Number of time steps before a moment that also affect the activations of the moment.
        after: Number of time steps after a moment that also affect the activations of the moment.
        spans: Start and end of each removed span, in an explanation by removal. Empty in any other
            explanation.
    """

    recording: np.ndarray
    parts: np.ndarray
    before: int
    after: int
    spans: tuple[tuple[int, int], ...] = ()

    def _runs(self, selected):
        """Lists `(start, end)` of each selected span. In an explanation by removal, a selected span
        is a span that was removed. In any other explanation, a selected span is an uninterrupted
        run of selected time steps.
        """
        if self.spans:
            return [(start, end) for start, end in self.spans if selected[start]]
        steps = np.diff(np.concatenate([[0], selected.astype(int), [0]]))
        starts, ends = (np.flatnonzero(steps == step).tolist() for step in (1, -1))
        return list(zip(starts, ends, strict=True))


@dataclasses.dataclass(frozen=True, eq=False)
class Explanation:
    """Distance between two recordings, explained by moments, channels or regions.

    Attributes:
        distance: Distance, equal to `keras_dml.distance` except for rounding.
        parts: Array whose sum is the distance. For quantile embeddings, the shape is `(filters,
            segments)`. For matrices, the shape is `(channels, channels)`: the part of channels i
            and j is above the diagonal, and the values below the diagonal are 0. None if the
            distance is not a sum of meaningful parts.
        labels: Labels of each axis of `parts`.
        meaning: Text that says how the moments, channels and regions were computed.
        channels: Dict from channels to their parts, which sum to the distance. In explanations by
            removal, the values are the decreases of the distance if a channel is removed. Empty if
            unknown.
        timelines: Dict from the names of the recordings to their `Timeline`. Empty if the parts of
            time steps are unknown.
        rate_hz: Time steps per second, or None if unknown.
        by_removal: True if the explanation was computed by removing one moment, channel or region
            at a time. The values of moments, channels and regions are then changes of the distance.
            Changes by removal do not sum to the distance.
        regions: Dict from a region of an image (rows, columns and recording) to the amount by which
            the distance decreases if this region is removed.
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
        """Text with the distance, or with the similarity if the distance is negative."""
        if self.distance < 0:
            return f"similarity {-self.distance:.4g}"
        return f"distance {self.distance:.4g}"

    @property
    def moments(self) -> tuple[Moment, ...]:
        """Spans that make the two recordings different, ordered by part, largest part first. If one
        of these spans is removed, the distance between the recordings is smaller.

        A span consists of time steps whose parts are above the mean over all time steps. In
        explanations by removal, a span belongs to the list if its removal lowered the distance.
        """
        least = {
            name: 0.0 if self.by_removal else self.distance / 2 / len(line.parts)
            for name, line in self.timelines.items()
        }
        spans = self._spans(lambda name, parts: parts > least[name])
        return tuple(sorted(spans, key=lambda moment: -moment.part))

    @property
    def alike(self) -> tuple[Moment, ...]:
        """Spans that make the two recordings similar, ordered by part, most negative part first. If
        one of these spans is removed, the distance between the recordings is larger.
        """
        spans = self._spans(lambda name, parts: parts < 0)
        return tuple(sorted(spans, key=lambda moment: moment.part))

    def _spans(self, selected):
        return [
            Moment(name, start, end, float(line.parts[start:end].sum()))
            for name, line in self.timelines.items()
            for start, end in line._runs(selected(name, line.parts))
        ]

    def largest(self, count: int | None = LISTED) -> dict[str, float]:
        """Returns the parts with the largest absolute values.

        Args:
            count: Number of parts, or None for all parts.

        Returns:
            Dict from labels to parts, ordered by absolute value. Empty if `parts` is None.
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
        """Returns a dict from pairs of channels to their parts, largest parts first.

        The dict is empty if `parts` belong to filters of a network, because people cannot interpret
        filters.
        """
        names = tuple(self.channels)
        return self.largest(count) if names and names in self.labels else {}

    def ranked(self) -> dict[str, dict[str, float]]:
        """Returns the parts of moments, channels and regions, ordered by absolute value.

        Returns:
            Dict with the keys `"moments"`, `"channels"` and `"regions"`. Each value is a dict
            `{name: part}`, without parts that are 0.
        """
        moments = {self.when(moment): moment.part for moment in (*self.moments, *self.alike)}
        lists = {"moments": moments, "channels": self.channels, "regions": self.regions}
        return {
            kind: dict(sorted(items, key=lambda item: -abs(item[1])))
            for kind, parts in lists.items()
            if (items := [(name, part) for name, part in parts.items() if part])
        }

    def when(self, moment: Moment) -> str:
        """Describes a moment as text, in seconds if the sample rate is known."""
        if self.rate_hz is None:
            return f"steps {moment.start} to {moment.end} of {moment.recording}"
        start, end = moment.start / self.rate_hz, moment.end / self.rate_hz
        return f"{start:.2f} to {end:.2f} s of {moment.recording}"

    def __str__(self) -> str:
        lines = self._changes() if self.by_removal else self._parts()
        return "\n".join([*lines, self.meaning])

    def _changes(self):
        """Returns lines of text that list which removals lower and which removals raise the
        distance."""
        lines = [self.measure]
        for kind, parts in self.ranked().items():
            # the sign of the largest change comes first
            signs = dict.fromkeys(part > 0 for part in parts.values())
            for is_closer in signs:
                items = [item for item in parts.items() if (item[1] > 0) == is_closer][:LISTED]
                text = "; ".join(f"{name} by {abs(part):.3g}" for name, part in items)
                side = "closer" if is_closer else "further apart"
                lines.append(f"{side} without these {kind}: {text}")
        if len(lines) == 1:
            lines.append("no single moment, channel or region changes the distance if removed")
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
