"""Says how complete the enrollment of a person is, and what to record next."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_dml import _figures
from keras_dml.gallery.results import Scale, Source

LITTLE = 0.01  # decrease of the equal error rate that is worth no further recording
DAYS = 2  # number of days from which a person should have recordings
ENROLLED = re.compile(r"(\d+) \w+ enrolled")  # number in names of a card's protocols


@dataclasses.dataclass(frozen=True)
class Completeness:
    """State of a person's enrollment.

    Attributes:
        person: Name of the person.
        recordings: Number of enrolled recordings.
        days: Labels of the days on which the recordings were made, sorted.
        devices: Labels of the devices that made the recordings, sorted. Empty if unknown.
        needed: Number of recordings above which the evidence shows little gain. None if there is no
            evidence.
        cohesion: Distance from a recording to the nearest other recording of the person, averaged
            over the recordings. None if the distance was not computed, or if the person has only
            one recording.
        scale: Scale of `cohesion`, as in `Decision`.
    """

    person: str
    recordings: int
    days: tuple[str, ...]
    devices: tuple[str, ...] = ()
    needed: int | None = None
    cohesion: float | None = None
    scale: Scale | None = None

    @property
    def closeness(self) -> float | None:
        """`cohesion` as a score from 0 (worst) to 100 (best). None if it cannot be converted."""
        if self.cohesion is None or self.scale is None:
            return None
        return self.scale.closeness(self.cohesion)

    @property
    def advice(self) -> str:
        """What to record next. Empty if the enrollment is complete."""
        if not self.recordings:
            return "enroll a recording"
        if len(self.days) < DAYS:
            return "add one more recording on another day"
        if self.needed is not None and self.recordings < self.needed:
            return f"add one more recording, {self.needed} are useful"
        return ""

    def __str__(self) -> str:
        counts = [
            _figures.counted(self.recordings, "recording"),
            _figures.counted(len(self.days), "day"),
        ]
        if self.devices:
            counts.append(_figures.counted(len(self.devices), "device"))
        if self.closeness is not None:
            counts.append(f"closeness to each other {self.closeness:.0f} of 100")
        return f"{self.person}: {', '.join(counts)}; {self.advice or 'complete'}"


def completeness(
    person: str,
    sources: Sequence[Source],
    card: dict[str, Any] | None,
    enrolled: int | None = None,
    cohesion: float | None = None,
    scale: Scale | None = None,
) -> Completeness:
    """Returns the `Completeness` of a person.

    Args:
        person: Name of the person.
        sources: `Source` of each enrolled recording.
        card: Card of the model, or None.
        enrolled: Number of recordings per person in the calibration. More recordings would raise
            the false accept rate above the rate of the threshold.
        cohesion: Mean distance to the nearest other recording of the person, or None.
        scale: Scale of `cohesion`, or None.
    """
    needs = [count for count in (recordings_needed(card), enrolled) if count]
    return Completeness(
        person,
        len(sources),
        tuple(sorted({source.day for source in sources})),
        tuple(sorted({source.device for source in sources} - {""})),
        min(needs, default=None),
        cohesion,
        scale,
    )


def recordings_needed(card: dict[str, Any] | None) -> int | None:
    """Returns the number of enrolled recordings above which more recordings bring little.

    The function reads the equal error rates (EER) of the card with several numbers of recordings.
    It returns the smallest number for which the EER with more recordings is lower by at most
    `LITTLE`. If several protocols of the card differ, the function returns the largest number.

    Args:
        card: Card of a model, or None.

    Returns:
        The number. None if the card has no EER for two numbers of recordings.
    """
    rates = {}
    for row in (card or {}).get("figures", []):
        if row["metric"] == "eer":
            count = ENROLLED.search(row["protocol"])
            number = row["n"] if count is None else int(count[1])
            rates.setdefault(ENROLLED.sub("", row["protocol"]), {})[number] = row["value"]
    numbers = [_least_number(by_number) for by_number in rates.values() if len(by_number) > 1]
    return max(numbers, default=None)


def _least_number(rates):
    """Returns the smallest number of recordings whose EER is at most `LITTLE` above the EERs of
    all larger numbers."""
    return min(
        number
        for number, rate in rates.items()
        if all(rate - rates[more] <= LITTLE for more in rates if more > number)
    )


def mean_nearest(distances: np.ndarray) -> float | None:
    """Returns the mean distance from a recording to the nearest other recording.

    Args:
        distances: Distances between all recordings of a person, shape `(count, count)`.

    Returns:
        The mean distance, or None if there is only one recording.
    """
    if len(distances) < 2:
        return None
    distances = distances + np.diag(np.full(len(distances), np.inf))
    return float(distances.min(axis=1).mean())
