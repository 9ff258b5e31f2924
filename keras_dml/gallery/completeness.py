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
CARD, CALIBRATION = "card", "calibration"  # values of `Completeness.source`
SOURCES = {
    CARD: "the model card shows little gain only above {}",
    CALIBRATION: "the threshold was calibrated with {} per person",
}
ENROLLED = re.compile(r"(\d+) \w+ enrolled")  # number in names of a card's protocols


@dataclasses.dataclass(frozen=True)
class Completeness:
    """State of a person's enrollment.

    Attributes:
        person: Name of the person.
        recordings: Number of enrolled recordings.
        days: Labels of the days on which the recordings were made, sorted.
        devices: Labels of the devices that made the recordings, sorted. Empty if unknown.
        needed: Number of recordings above which more recordings bring little, or would raise the
            false accept rate. None if unknown.
        source: Where `needed` comes from: `CARD` for the error rates in the model card, or
            `CALIBRATION` for the number of recordings per person in the calibration. None if
            `needed` is None.
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
    source: str | None = None
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
        """Advice about the next recording. Empty if the enrollment is complete, or if it is unknown
        whether more recordings would help."""
        if not self.recordings:
            return "enroll a recording"
        if len(self.days) < DAYS:
            return "add one more recording on another day"
        if self.needed is not None and self.recordings < self.needed:
            return f"add one more recording, {SOURCES[self.source].format(self.needed)}"
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
        state = "complete" if self.needed else "it is unknown whether more recordings help"
        return f"{self.person}: {', '.join(counts)}; {self.advice or state}"


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
    counts = (recordings_needed(card), CARD), (enrolled, CALIBRATION)
    needs = [(count, source) for count, source in counts if count]
    needed, source = min(needs, default=(None, None), key=lambda need: need[0])
    return Completeness(
        person,
        len(sources),
        tuple(sorted({source.day for source in sources})),
        tuple(sorted({source.device for source in sources} - {""})),
        needed,
        source,
        cohesion,
        scale,
    )


def recordings_needed(card: dict[str, Any] | None) -> int | None:
    """Returns the number of enrolled recordings above which more recordings bring little.

    The function reads the equal error rates (EER) of the card with several numbers of recordings.
    It returns the smallest number for which the EER with each larger measured number is lower by at
    most `LITTLE`. If several protocols of the card differ, the function returns the largest number.

    Args:
        card: Card of a model, or None.

    Returns:
        The number. None if the card has no EER for two numbers of recordings, or if in one protocol
        the EER still falls by more than `LITTLE` up to the largest number.
    """
    rates = {}
    for row in (card or {}).get("figures", []):
        if row["metric"] == "eer":
            count = ENROLLED.search(row["protocol"])
            number = row["n"] if count is None else int(count[1])
            rates.setdefault(ENROLLED.sub("", row["protocol"]), {})[number] = row["value"]
    numbers = [_least_number(by_number) for by_number in rates.values() if len(by_number) > 1]
    return None if None in numbers else max(numbers, default=None)


def _least_number(rates):
    """Returns the smallest number of recordings whose EER is at most `LITTLE` above the EERs of
    all larger numbers. None if no such number exists. Nothing was measured above the largest
    number, so the function never returns the largest number."""
    *numbers, _ = sorted(rates)
    enough = [
        number
        for number in numbers
        if all(rates[number] - rates[more] <= LITTLE for more in rates if more > number)
    ]
    return min(enough, default=None)


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
