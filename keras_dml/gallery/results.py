"""Results of galleries: enrollments, thresholds, decisions. No result holds an embedding."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from keras_dml import _percents, evaluation

if TYPE_CHECKING:
    from keras_dml.gallery.boundary import Boundary

PROVISIONAL = "from the model's card"
MOVED = "the card's, moved to these people"


class Scale(NamedTuple):
    """Closeness from 0 to 100, which people read more easily than the distances of a model.

    Attributes:
        to_itself: Distance of a recording to itself, closeness 100.
        to_others: Usual distance of a recording to another person, closeness 0.
    """

    to_itself: float
    to_others: float

    @classmethod
    def from_card(cls, card: dict | None, to_itself: float) -> Scale | None:
        """Returns the scale of a model, or None if its card has no distances of imposters.

        Args:
            card: Card of the model, or None.
            to_itself: Distance of a recording to itself.
        """
        imposters = (card or {}).get("imposters")
        if imposters is None or not imposters["mean"] > to_itself:
            return None
        return cls(float(to_itself), imposters["mean"])

    def closeness(self, distance: float) -> float:
        """Returns the closeness of a distance.

        It is 100 for the same recording, and 0 for a distance that is usual between two people or
        larger.

        Args:
            distance: The distance; infinity gives 0.
        """
        share = (self.to_others - distance) / (self.to_others - self.to_itself)
        return 100 * float(np.clip(share, 0.0, 1.0))


@dataclasses.dataclass(frozen=True)
class Enrollment:
    """Outcome of the enrollment of recordings.

    Attributes:
        person: Name of the person.
        kept: Indices of the recordings that are enrolled now.
        refused: Reason for each recording that was refused, by its index.
        enrolled: Number of the person's recordings in the gallery, including these.
        ids: Id of each recording in `kept`, for `Gallery.forget`.
        repeated: For the index of each recording that counts once, the index of the earlier
            recording that it repeats; None if the recording was enrolled before.
    """

    person: str
    kept: tuple[int, ...]
    refused: dict[int, str]
    enrolled: int
    ids: tuple[str, ...] = ()
    repeated: dict[int, int | None] = dataclasses.field(default_factory=dict)

    def __str__(self):
        summary = f"{self.person}: {len(self.kept)} recordings enrolled, {self.enrolled} in all"
        repeats = (
            f"recording {i} is enrolled already"
            if first is None
            else f"recording {i} is the same as recording {first}"
            for i, first in self.repeated.items()
        )
        reasons = (f"recording {i}: {reason}" for i, reason in self.refused.items())
        return "\n".join([summary, *repeats, *reasons])


class StoredRecording(NamedTuple):
    """A recording in a gallery: its id and the time of its enrollment, in ISO 8601 and UTC."""

    id: str
    created: str


@dataclasses.dataclass(frozen=True)
class GalleryInfo:
    """Facts about a gallery, without its embeddings and names.

    Attributes:
        path: Path of the file, or the URL without its password.
        model: Name or path of the model; None if nothing was written to the gallery yet.
        fingerprint: SHA-256 of the weights and the distance, see `model.GalleryModel`; None as for
            `model`.
        created: Time at which the gallery was made, in ISO 8601 and UTC. Galleries of earlier
            releases did not store it: then the time of the first recording, or None.
        encrypted: Whether the embeddings are encrypted.
        people: Number of people.
        recordings: Number of recordings enrolled.
        marked: Number of recordings marked as not a person's.
        reading: Options by which the files of the first enrollment were read, `{name: value}`.
        thresholds: `Threshold` by false accept rate.
        boundaries: `Boundary` by false match rate.
        provisional: Thresholds of the model's card. They decide until a threshold is set.
    """

    path: str
    model: str | None
    fingerprint: str | None
    created: str | None
    encrypted: bool
    people: int
    recordings: int
    marked: int
    reading: dict[str, Any]
    thresholds: dict[float, Threshold]
    boundaries: dict[float, Boundary]
    provisional: dict[float, Threshold]


class GroupRate(NamedTuple):
    """False accept rate between people of one group, with its 95 % interval."""

    group: str
    far: float
    low: float
    high: float
    people: int

    def __str__(self):
        bounds = _percents.interval((self.low, self.high))
        return f"{self.group}: FAR {100 * self.far:.3g} % [{bounds}] between {self.people} people"


@dataclasses.dataclass(frozen=True)
class Threshold:
    """A distance up to which a claim is accepted, and its measured rates.

    Attributes:
        far: False accept rate that was asked for.
        value: The threshold, a distance of the model.
        far_ci95: 95 % interval of the false accept rate among as many other people, see
            `keras_dml.evaluation.certificate`.
        tar: Fraction of the genuine claims that are accepted (true accept rate).
        tar_ci95: 95 % interval of `tar`.
        people: Number of people who set the threshold.
        trials: Number of their imposter trials.
        independent: Number of independent pairs of people that carry as much information.
        strictest: The lowest rate that these people support.
        method: How the threshold was set: counted over people, extrapolated by a model of the tail,
            `MOVED` or `PROVISIONAL`.
        groups: `GroupRate` of each group, if groups were given.
        enrolled: Median number of recordings per person. With more recordings enrolled per person,
            false claims are accepted more often.
    """

    far: float
    value: float
    far_ci95: tuple[float, float]
    tar: float
    tar_ci95: tuple[float, float]
    people: int
    trials: int
    independent: float
    strictest: float
    method: str
    groups: tuple[GroupRate, ...] = ()
    enrolled: int | None = None

    def __post_init__(self):
        if not math.isfinite(self.value):  # an infinite one from a foreign file accepts everybody
            raise ValueError(f"The threshold is {self.value}, but it must be a finite distance.")
        groups = tuple(GroupRate(*group) for group in self.groups)  # JSON gives lists
        object.__setattr__(self, "groups", groups)

    @property
    def extrapolated(self) -> bool:
        """True if the rate is lower than these people support: a model's estimate, no promise."""
        return self.far < self.strictest and self.method not in (MOVED, PROVISIONAL)

    @property
    def is_counted(self) -> bool:
        """True if the rate was counted over people of the gallery, who support it."""
        return not self.extrapolated and self.method not in (MOVED, PROVISIONAL)

    @property
    def provisional(self) -> bool:
        """True if the threshold was set by the people of the model's card."""
        return self.method == PROVISIONAL

    def people_needed(self, far: float) -> tuple[int, int]:
        """Returns the fewest and the most people that another rate would need.

        See `keras_dml.evaluation.Certificate`.
        """
        counted = evaluation.FalseAccepts(
            self.value, self.far, self.far_ci95, self.people, self.trials, self.independent
        )
        return counted.people_needed(far)

    def among(self, people: int) -> float:
        """Returns an upper bound of the false positive identification rate (FPIR).

        FPIR is the rate at which identification takes a stranger for one of the people enrolled.
        The bound is `people * far`, at most 1.

        The rate of enrolled people who are not identified (FNIR) has no useful bound of this kind.
        `1 - TAR + (people - 1) FAR` was 70 % among 30 people, and 12 % was measured. Measure FNIR
        by `keras_dml.evaluation.identification` and `imposters`.

        Args:
            people: Number of people enrolled.
        """
        return min(1.0, people * self.far)

    def __str__(self):
        fewest, most = self.people_needed(self.far / 10)
        summary = (
            f"threshold {self.value:.4g} for FAR {100 * self.far:g} % (95 % interval "
            f"{_percents.interval(self.far_ci95)}, {self.method}: {self.people} people, "
            f"{self.trials:,} imposter trials), TAR {100 * self.tar:.1f} %; FAR {10 * self.far:g} "
            f"% would need about {fewest:,} to {most:,} people"
        )
        return "\n".join([summary, *map(str, self.groups)])


@dataclasses.dataclass(frozen=True)
class Decision:
    """Decision whether a claim is accepted (verification).

    Attributes:
        accepted: Whether the claim is accepted.
        person: The person claimed.
        score: Mean over the recordings of the least distance to the person's enrolled recordings.
            Smaller is closer.
        threshold: Largest score that is accepted.
        denied: Whether a recording is nearest to one that was marked as not this person's.
        far: False accept rate of the threshold; None if the caller gave the threshold.
        extrapolated: See `Threshold.extrapolated`.
        provisional: See `Threshold.provisional`.
        scale: Scale of `closeness`; None if the model's card has no distances of imposters.
    """

    accepted: bool
    person: str
    score: float
    threshold: float
    denied: bool = False
    far: float | None = None
    extrapolated: bool = False
    provisional: bool = False
    scale: Scale | None = None

    @property
    def closeness(self) -> float | None:
        """Closeness of the recordings from 0 to 100, see `Scale`; None without a scale."""
        return None if self.scale is None else self.scale.closeness(self.score)

    def in_words(self, distances: bool = False, scores: bool = True) -> str:
        """Returns the decision in words.

        Args:
            distances: True to name the model's distances instead of closeness.
            scores: True to name the score, and the reason if a recording was denied.
        """
        answer = f"{self.person} {'accepted' if self.accepted else 'rejected'}"
        limit = limit_in_words(self, distances)
        if not scores:
            return f"{answer}: {limit}"
        reason = ", nearest to a recording marked as another person's" if self.denied else ""
        return f"{answer}: {measured_in_words(self.score, self.scale, distances)}, {limit}{reason}"

    def __str__(self):
        return self.in_words()


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A person of the gallery, and the score of the recordings against that person."""

    person: str
    score: float


@dataclasses.dataclass(frozen=True)
class Identification:
    """Decision which person recordings belong to, or that they are a stranger's.

    Attributes:
        person: The nearest person if within the threshold; None for a stranger, or if people tie.
        candidates: The nearest people, nearest first.
        threshold: Largest score that is not a stranger's. None: no threshold is set, and the result
            has candidates but no decision.
        people: Number of people that were compared.
        fpir: Upper bound of the false positive identification rate with this number of people, see
            `Threshold.among`; None if the threshold's rate was not counted over people, or the
            bound is 1.
        far: False accept rate of the threshold; None if the caller gave the threshold.
        extrapolated: See `Threshold.extrapolated`.
        provisional: See `Threshold.provisional`.
        tied: The nearest people if two or more within the threshold are equally near, so that the
            gallery does not decide between them. Otherwise empty.
        scale: As in `Decision`.
    """

    person: str | None
    candidates: tuple[Candidate, ...]
    threshold: float | None
    people: int
    fpir: float | None = None
    far: float | None = None
    extrapolated: bool = False
    provisional: bool = False
    tied: tuple[str, ...] = ()
    scale: Scale | None = None

    @property
    def answer(self) -> str:
        """The decision in words."""
        if self.threshold is None:
            return "no decision: no threshold is set"
        if self.tied:
            return f"no decision: {' and '.join(self.tied)} are equally near"
        return self.person or "a stranger"

    def limit(self, distances: bool = False) -> str:
        """Returns the threshold in words; empty without a threshold.

        Args:
            distances: As in `Decision.in_words`.
        """
        return limit_in_words(self, distances)

    def closeness(self, candidate: Candidate) -> float | None:
        """Returns the closeness of a candidate, see `Decision.closeness`."""
        return None if self.scale is None else self.scale.closeness(candidate.score)

    @property
    def rates(self) -> str:
        """FPIR in words; empty if it is unknown."""
        if self.fpir is None:
            return ""
        return f"among {self.people} people FPIR up to {100 * self.fpir:.3g} %"

    def __str__(self):
        nearest = ", ".join(
            f"{candidate.person} {measured_in_words(candidate.score, self.scale)}"
            for candidate in self.candidates
        )
        words = [nearest, *filter(None, [limit_in_words(self), self.rates])]
        return f"{self.answer} ({'; '.join(words)})"


def measured_in_words(score: float, scale: Scale | None, distances: bool = False) -> str:
    """Returns a score in words.

    Args:
        score: A distance.
        scale: Scale of closeness, or None.
        distances: True to name the distance even if there is a scale.
    """
    if scale is None or distances:
        return f"distance {score:.4g}"
    return f"closeness {scale.closeness(score):.1f} of 100"


def limit_in_words(answer: Any, distances: bool = False) -> str:
    """Returns the threshold of a result and its false accept rate; empty without a threshold.

    Args:
        answer: A result with `threshold`, `far`, `extrapolated`, `provisional` and, unless
            `distances`, `scale`, such as a `Decision`.
        distances: As in `measured_in_words`.
    """
    if answer.threshold is None:
        return ""
    rate = "" if answer.far is None else f" for FAR {100 * answer.far:g} %"
    warning = ", extrapolated: no promise" if answer.extrapolated else ""
    warning = f", provisional: {PROVISIONAL}" if answer.provisional else warning
    if distances or answer.scale is None:
        return f"threshold {answer.threshold:.4g}{rate}{warning}"
    return f"threshold {answer.scale.closeness(answer.threshold):.1f}{rate}{warning}"
