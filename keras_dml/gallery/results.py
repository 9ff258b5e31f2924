"""Results of the methods of a gallery. No result contains an embedding."""

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
    """Scale that converts distances to scores from 0 to 100, which are easier to read.

    Attributes:
        to_itself: Distance from a recording to itself, which gets the score 100.
        to_others: Mean distance from a recording to another person, which gets the score 0.
    """

    to_itself: float
    to_others: float

    @classmethod
    def from_card(cls, card: dict[str, Any] | None, to_itself: float) -> Scale | None:
        """Returns the scale of a model, or None if the card has no imposter distances.

        Args:
            card: Card of the model, or None.
            to_itself: Distance from a recording to itself.
        """
        imposters = (card or {}).get("imposters")
        if imposters is None or not imposters["mean"] > to_itself:
            return None
        return cls(float(to_itself), imposters["mean"])

    def closeness(self, distance: float) -> float:
        """Returns the score from 0 to 100 for a distance.

        The score is 100 for the same recording. It is 0 for distances that are at least as large as
        the mean distance between two people.

        Args:
            distance: The distance. An infinite distance gives 0.
        """
        share = (self.to_others - distance) / (self.to_others - self.to_itself)
        return 100 * float(np.clip(share, 0.0, 1.0))


@dataclasses.dataclass(frozen=True)
class Enrollment:
    """Result of enrolling recordings.

    Attributes:
        person: Name of the person.
        kept: Indices of the recordings that were enrolled.
        refused: `{index: reason}` for each refused recording.
        enrolled: Number of all recordings of the person in the gallery.
        ids: Id of each recording in `kept`, for `Gallery.forget`.
        repeated: `{index: first}` for each repeated recording, where `first` is the index of the
            same recording, or None if the recording was enrolled before.
    """

    person: str
    kept: tuple[int, ...]
    refused: dict[int, str]
    enrolled: int
    ids: tuple[str, ...] = ()
    repeated: dict[int, int | None] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
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
    """Id of a recording in a gallery, and the time when it was stored, in ISO 8601 and UTC."""

    id: str
    created: str


@dataclasses.dataclass(frozen=True)
class GalleryInfo:
    """Facts about a gallery, without embeddings and names of people.

    Attributes:
        path: Path of the file, or the URL without the password.
        model: Name or path of the model. None if nothing was written to the gallery yet.
        fingerprint: SHA-256 of the weights and the distance of the model, see `model.GalleryModel`.
            None if nothing was written to the gallery yet.
        created: Time when the gallery was created, in ISO 8601 and UTC. Earlier releases did not
            store this time. For their galleries, it is the time of the first recording, or None.
        encrypted: Whether the embeddings are encrypted.
        people: Number of people.
        recordings: Number of enrolled recordings.
        marked: Number of imposter recordings that `reject` stored.
        reading: Options with which the files of the first enrollment were read, `{name: value}`.
        thresholds: Calibrated thresholds, `{false accept rate: Threshold}`.
        boundaries: Decision thresholds of `listen`, `{false match rate: Boundary}`.
        provisional: Thresholds of the model card, which decide until `calibrate` sets a threshold.
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
    """False accept rate between the people of one group, with the 95 % confidence interval.

    Attributes:
        group: Name of the group.
        far: False accept rate.
        low: Lower end of the interval.
        high: Upper end of the interval.
        people: Number of people in the group.
    """

    group: str
    far: float
    low: float
    high: float
    people: int

    def __str__(self) -> str:
        bounds = _percents.interval((self.low, self.high))
        return f"{self.group}: FAR {100 * self.far:.3g} % [{bounds}] between {self.people} people"


@dataclasses.dataclass(frozen=True)
class Threshold:
    """Largest distance with which a claim is accepted, and the error rates at this distance.

    Attributes:
        far: False accept rate that was asked for.
        value: Largest accepted distance.
        far_ci95: 95 % confidence interval of the false accept rate that another group of the same
            number of people would have, see `keras_dml.evaluation.certificate`.
        tar: Fraction of genuine claims that are accepted (true accept rate).
        tar_ci95: 95 % confidence interval of `tar`.
        people: Number of calibration people.
        trials: Number of false claims (imposter trials) of the calibration people.
        independent: Number of independent pairs of people that carry as much information as all
            trials.
        strictest: Lowest false accept rate for which the number of calibration people is large
            enough.
        method: Method that computed the threshold: counted over people, extrapolated with a model
            of the tail, `MOVED` or `PROVISIONAL`.
        groups: `GroupRate` of each group. Empty if no groups were given.
        enrolled: Median number of recordings per calibration person. If more recordings per person
            are enrolled, false claims are accepted more often.
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

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):  # infinity in a foreign file accepts everybody
            raise ValueError(f"The threshold is {self.value}, but it must be a finite distance.")
        groups = tuple(GroupRate(*group) for group in self.groups)  # JSON has no tuples
        object.__setattr__(self, "groups", groups)

    @property
    def extrapolated(self) -> bool:
        """True if the people were too few for the rate `far`, which is then only an estimate."""
        return self.far < self.strictest and self.method not in (MOVED, PROVISIONAL)

    @property
    def is_counted(self) -> bool:
        """True if the rate was measured on enough people, without extrapolation or the card."""
        return not self.extrapolated and self.method not in (MOVED, PROVISIONAL)

    @property
    def provisional(self) -> bool:
        """True if the threshold comes from the model card."""
        return self.method == PROVISIONAL

    def people_needed(self, far: float) -> tuple[int, int]:
        """Returns how many people another rate needs, as a smallest and a largest estimate.

        Args:
            far: Wanted false accept rate. `keras_dml.evaluation.Certificate.people_needed`
                explains the estimates.
        """
        counted = evaluation.FalseAccepts(
            self.value, self.far, self.far_ci95, self.people, self.trials, self.independent
        )
        return counted.people_needed(far)

    def among(self, people: int) -> float:
        """Returns an upper bound of the false positive identification rate (FPIR).

        FPIR is the fraction of strangers whom `identify` takes for an enrolled person. The bound is
        `people * far`, at most 1.

        The false negative identification rate (FNIR) is the fraction of enrolled people who are not
        identified. It has no useful bound of this kind: in one experiment with 30 enrolled people,
        the bound `1 - TAR + (people - 1) FAR` was 70 %, and the measured FNIR was 12 %. Measure
        FNIR with `keras_dml.evaluation.identification` and `imposters`.

        Args:
            people: Number of enrolled people.
        """
        return min(1.0, people * self.far)

    def __str__(self) -> str:
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
    """Result of `Gallery.verify`: whether a claim is accepted.

    Attributes:
        accepted: Whether the claim is accepted.
        person: Name of the claimed person.
        score: Least distance to the person's enrolled recordings, averaged over the observed
            recordings. A smaller score means a better match.
        threshold: Largest score that is accepted.
        denied: Whether an observed recording is nearest to an imposter that `reject` stored for
            this person.
        far: False accept rate of the threshold. None if the caller gave the threshold.
        extrapolated: See `Threshold.extrapolated`.
        provisional: See `Threshold.provisional`.
        scale: Scale for `closeness`. None if the model card has no imposter distances.
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
        """Score from 0 to 100, where 100 is the best match, see `Scale`. None without a scale."""
        return None if self.scale is None else self.scale.closeness(self.score)

    def in_words(self, distances: bool = False, scores: bool = True) -> str:
        """Returns the decision in words.

        Args:
            distances: Whether to state distances instead of scores from 0 to 100.
            scores: Whether to state the score, and that an imposter is nearest if `denied` is True.
        """
        answer = f"{self.person} {'accepted' if self.accepted else 'rejected'}"
        limit = limit_in_words(self, distances)
        if not scores:
            return f"{answer}: {limit}"
        reason = ", nearest to a stored imposter recording" if self.denied else ""
        return f"{answer}: {measured_in_words(self.score, self.scale, distances)}, {limit}{reason}"

    def __str__(self) -> str:
        return self.in_words()


@dataclasses.dataclass(frozen=True)
class Candidate:
    """An enrolled person, and the score of the observed recordings against this person."""

    person: str
    score: float


@dataclasses.dataclass(frozen=True)
class Identification:
    """Result of `Gallery.identify`: the person who made recordings, or None for a stranger.

    Attributes:
        person: Name of the identified person. None if no person is near enough (a stranger), or if
            several people have equal scores.
        candidates: The people with the least scores, nearest first.
        threshold: Largest score with which a person is identified. None if no threshold exists.
            The result then contains candidates, but no decision.
        people: Number of enrolled people.
        fpir: Upper bound of the false positive identification rate for this number of people, see
            `Threshold.among`. None if the bound is 1, or if the rate of the threshold was
            extrapolated or is based on the card.
        far: False accept rate of the threshold. None if the caller gave the threshold.
        extrapolated: See `Threshold.extrapolated`.
        provisional: See `Threshold.provisional`.
        tied: Names of the nearest people if several people have equal scores up to the threshold,
            so that the gallery does not decide between them. Otherwise empty.
        scale: Scale for `closeness`, as in `Decision`.
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
        """Returns the threshold in words. Empty without a threshold.

        Args:
            distances: Whether to state distances instead of scores from 0 to 100.
        """
        return limit_in_words(self, distances)

    def closeness(self, candidate: Candidate) -> float | None:
        """Returns the score of a candidate from 0 to 100. None without a scale."""
        return None if self.scale is None else self.scale.closeness(candidate.score)

    @property
    def rates(self) -> str:
        """Bound of the false positive identification rate (FPIR) in words. Empty if unknown."""
        if self.fpir is None:
            return ""
        return f"among {self.people} people FPIR up to {100 * self.fpir:.3g} %"

    def __str__(self) -> str:
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
        scale: Scale of scores from 0 to 100, or None.
        distances: Whether to state the distance even if there is a scale.
    """
    if scale is None or distances:
        return f"distance {score:.4g}"
    return f"closeness {scale.closeness(score):.1f} of 100"


def limit_in_words(answer: Any, distances: bool = False) -> str:
    """Returns the threshold and the false accept rate in words. Empty without a threshold.

    Args:
        answer: A result such as a `Decision`, with the attributes `threshold`, `far`,
            `extrapolated` and `provisional`. It also needs `scale` unless `distances` is True.
        distances: Whether to state distances instead of scores from 0 to 100.
    """
    if answer.threshold is None:
        return ""
    rate = "" if answer.far is None else f" for FAR {100 * answer.far:g} %"
    warning = ", extrapolated: only an estimate" if answer.extrapolated else ""
    warning = f", provisional: {PROVISIONAL}" if answer.provisional else warning
    if distances or answer.scale is None:
        return f"threshold {answer.threshold:.4g}{rate}{warning}"
    return f"threshold {answer.scale.closeness(answer.threshold):.1f}{rate}{warning}"
