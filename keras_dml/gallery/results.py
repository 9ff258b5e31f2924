"""Results that the methods of a gallery return. No result contains an embedding."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from keras_dml import _figures, evaluation

if TYPE_CHECKING:
    from keras_dml.gallery.boundary import Boundary

PROVISIONAL = "from the model's card"
MOVED = "the card's, moved to these people"  # stored in galleries


class Scale(NamedTuple):
    """Conversion of distances to scores from 0 to 100. Scores from 0 to 100 are easier to read than
    distances.

    Attributes:
        to_itself: Distance from a recording to itself, which gets the score 100.
        to_others: Mean distance from a recording to another person, which gets the score 0.
    """

    to_itself: float
    to_others: float

    @classmethod
    def from_card(cls, card: dict[str, Any] | None, to_itself: float) -> Scale | None:
        """Returns the `Scale` of a model, or None if the card has no distances between different
        people.

        Args:
            card: Card of the model, or None.
            to_itself: Distance from a recording to itself.
        """
        imposters = (card or {}).get("imposters")
        if imposters is None or not imposters["mean"] > to_itself:
            return None
        return cls(float(to_itself), imposters["mean"])

    def closeness(self, distance: float) -> float:
        """Converts a distance to a score from 0 to 100.

        The distance from a recording to itself gives the score 100. Distances that are at least as
        large as the mean distance between two people give the score 0.

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
        enrolled: Total number of the person's recordings in the gallery.
        ids: Ids of the recordings in `kept`, for `Gallery.forget`.
        repeated: Dict from the index of each repeated recording to the index of the first recording
            that is equal to it. The value is None if the recording was already enrolled.
    """

    person: str
    kept: tuple[int, ...]
    refused: dict[int, str]
    enrolled: int
    ids: tuple[str, ...] = ()
    repeated: dict[int, int | None] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        kept = _figures.counted(len(self.kept), "recording")
        summary = f"{self.person}: {kept} enrolled, {self.enrolled} in all"
        repeats = (
            f"recording {i} is enrolled already"
            if first is None
            else f"recording {i} is the same as recording {first}"
            for i, first in self.repeated.items()
        )
        reasons = (f"recording {i}: {reason}" for i, reason in self.refused.items())
        return "\n".join([summary, *repeats, *reasons])


class Source(NamedTuple):
    """Origin of an enrolled recording.

    Attributes:
        day: Label of the day on which the recording was made.
        device: Label of the device that made the recording. Empty if the device is unknown.
        proposed: Whether a proposal added the recording, see `proposals.Proposals`.
    """

    day: str
    device: str = ""
    proposed: bool = False


class StoredRecording(NamedTuple):
    """A stored recording, without its embedding.

    Attributes:
        id: Id of the recording.
        created: Time when the recording was stored (ISO 8601, UTC).
        source: Day, device and origin of the recording. By default, the day is the date of
            `created`.
    """

    id: str
    created: str
    source: Source


@dataclasses.dataclass(frozen=True)
class GalleryInfo:
    """Facts about a gallery, without embeddings and names of people.

    Attributes:
        path: Path of the file, or the URL without the password.
        model: Name or path of the model. None if nothing was written to the gallery yet.
        fingerprint: SHA-256 digest of the weights and the distance of the model, see
            `model.GalleryModel`. None if nothing was written to the gallery yet.
        created: Time when the gallery was created (ISO 8601, UTC). If an earlier release made the
            gallery, `created` is the time when the first recording was stored, or None if no
            recording is stored.
        encrypted: Whether the embeddings are encrypted.
        people: Number of people.
        recordings: Number of enrolled recordings.
        marked: Number of imposter recordings that `reject` stored.
        reading: Options with which the files of the first enrollment were read, `{name: value}`.
        thresholds: Calibrated thresholds, `{false accept rate: Threshold}`.
        boundaries: Decision thresholds of `listen`, `{false match rate: Boundary}`.
        provisional: Thresholds of the model card. The gallery uses the thresholds of the card until
            `calibrate` sets a threshold.
        scoring: Name of the scoring, see `keras_dml.scoring`.
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
    scoring: str


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
        bounds = _figures.interval((self.low, self.high))
        return f"{self.group}: FAR {100 * self.far:.3g} % [{bounds}] between {self.people} people"


@dataclasses.dataclass(frozen=True)
class Threshold:
    """Largest distance at which a claim is accepted, and the error rates with this threshold.

    Attributes:
        far: False accept rate for which the threshold was computed.
        value: Largest accepted distance.
        far_ci95: 95 % confidence interval of the false accept rate in other groups with the same
            number of people, see `keras_dml.evaluation.certificate`.
        tar: Fraction of genuine claims that are accepted (true accept rate).
        tar_ci95: 95 % confidence interval of `tar`.
        people: Number of calibration people.
        trials: Number of false claims (imposter trials) between calibration people.
        independent: Number of independent pairs of people that would give as much information as
            all trials.
        strictest: Smallest false accept rate for which there are enough calibration people.
        method: Text that says how the threshold was computed: `MOVED`, `PROVISIONAL`, or the method
            of a `keras_dml.evaluation.Certificate`.
        groups: `GroupRate` of each group. Empty if no groups were given.
        enrolled: Median number of recordings per calibration person. If a gallery has more
            recordings per person than `enrolled`, false claims are accepted more often.
        margin: Difference of scores below which `identify` does not decide between two people, see
            `margins.second_best_margin`. 0 if only equal scores prevent a decision.
        confident: Largest median distance of a recording that may be proposed as a template, see
            `margins.confident_score`. If the threshold comes from the model card, `confident` is
            the card's threshold for the next smaller rate. None if the card has no smaller rate, if
            the scoring is not `nearest`, or if an earlier release computed the threshold.
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
    margin: float = 0.0
    confident: float | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):  # infinity in a foreign file accepts everybody
            raise ValueError(f"The threshold is {self.value}, but it must be a finite distance.")
        groups = tuple(GroupRate(*group) for group in self.groups)  # JSON has no tuples
        object.__setattr__(self, "groups", groups)

    @property
    def extrapolated(self) -> bool:
        """True if there were too few people for `far`, so that `far` is only an estimate."""
        return self.far < self.strictest and self.method not in (MOVED, PROVISIONAL)

    @property
    def is_counted(self) -> bool:
        """True if the false accept rate was measured on enough people, without the model card."""
        return not self.extrapolated and self.method not in (MOVED, PROVISIONAL)

    @property
    def provisional(self) -> bool:
        """True if the threshold comes from the model card."""
        return self.method == PROVISIONAL

    def people_needed(self, far: float) -> tuple[int, int]:
        """Returns the smallest and the largest estimate of the number of people that a false accept
        rate needs.

        Args:
            far: Desired false accept rate. `keras_dml.evaluation.Certificate.people_needed`
                explains the estimates.
        """
        counted = evaluation.FalseAccepts(
            self.value, self.far, self.far_ci95, self.people, self.trials, self.independent
        )
        return counted.people_needed(far)

    def among(self, people: int) -> float:
        """Returns an upper bound of the false positive identification rate (FPIR).

        FPIR is the fraction of strangers whom `identify` takes for an enrolled person. The bound is
        `people * far`, or 1 if the product is larger.

        The false negative identification rate (FNIR) is the fraction of enrolled people who are not
        identified. FNIR has no useful upper bound. In one experiment with 30 enrolled people, the
        bound `1 - TAR + (people - 1) FAR` was 70 %, but the measured FNIR was 12 %. Measure FNIR
        with `keras_dml.evaluation.identification` and `keras_dml.evaluation.imposters`.

        Args:
            people: Number of enrolled people.
        """
        return min(1.0, people * self.far)

    def __str__(self) -> str:
        fewest, most = self.people_needed(self.far / 10)
        summary = (
            f"threshold {self.value:.4g} for FAR {100 * self.far:g} % (95 % interval of the FAR: "
            f"{_figures.interval(self.far_ci95)}, {self.method}: {self.people} people, "
            f"{self.trials:,} imposter trials), TAR {100 * self.tar:.1f} %. FAR {10 * self.far:g} "
            f"% would need about {fewest:,} to {most:,} people"
        )
        return "\n".join([summary, *map(str, self.groups)])


@dataclasses.dataclass(frozen=True)
class Decision:
    """Result of `Gallery.verify`: whether a claim is accepted.

    Attributes:
        accepted: Whether the claim is accepted.
        person: Name of the claimed person.
        score: Distance from an observed recording to the nearest enrolled recording of the person,
            averaged over the observed recordings. A smaller score means a better match.
        threshold: Largest score that is accepted.
        denied: Whether an imposter recording is nearer to an observed recording than the person's
            enrolled recordings are. `reject` stores imposter recordings.
        far: False accept rate of the threshold. None if the caller set the threshold.
        extrapolated: Whether the threshold is extrapolated, see `Threshold.extrapolated`.
        provisional: Whether the threshold is from the model card, see `Threshold.provisional`.
        scale: Scale that converts `score` to `closeness`. None if the model card has no distances
            between different people.
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
        """Score from 0 (worst match) to 100 (best match). None if `scale` is None."""
        return None if self.scale is None else self.scale.closeness(self.score)

    def in_words(self, distances: bool = False, scores: bool = True) -> str:
        """Returns the decision in words.

        Args:
            distances: Whether to state distances instead of scores from 0 to 100.
            scores: Whether to state the score. If `denied` is True, the text then also states that
                an imposter is nearest.
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
    """Result of `Gallery.identify`: the person who made the recordings, or None for a stranger.

    Attributes:
        person: Name of the identified person. None if no person is near enough (a stranger), or if
            several people are about equally near.
        candidates: The people with the smallest scores, in ascending order of the scores.
        threshold: Largest score with which a person is identified. None if no threshold exists.
            Without a threshold, the result contains candidates, but no decision.
        people: Number of enrolled people.
        fpir: Upper bound of the false positive identification rate for the number of enrolled
            people, see `Threshold.among`. None if the upper bound is 1, or if `far` was
            extrapolated or comes from the model card.
        far: False accept rate of the threshold. None if the caller set the threshold.
        extrapolated: Whether the threshold is extrapolated, see `Threshold.extrapolated`.
        provisional: Whether the threshold is from the model card, see `Threshold.provisional`.
        tied: Names of the nearest people if the smallest score is at most the threshold and the
            other scores differ from it by at most the margin, see `Threshold.margin`. The gallery
            does not decide between these people. In all other cases, `tied` is empty.
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
            return f"no decision: {' and '.join(self.tied)} are about equally near"
        return self.person or "a stranger"

    def limit(self, distances: bool = False) -> str:
        """Returns the threshold in words, or an empty text if there is no threshold.

        Args:
            distances: Whether to state distances instead of scores from 0 to 100.
        """
        return limit_in_words(self, distances)

    def closeness(self, candidate: Candidate) -> float | None:
        """Returns the score of a candidate from 0 to 100. None if `scale` is None."""
        return None if self.scale is None else self.scale.closeness(candidate.score)

    @property
    def rates(self) -> str:
        """Upper bound of the false positive identification rate (FPIR) in words, or an empty text
        if there is no bound."""
        if self.fpir is None:
            return ""
        return f"FPIR at most {100 * self.fpir:.3g} % among {self.people} people"

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
        scale: Conversion to scores from 0 to 100, or None.
        distances: Whether to state the distance even if there is a scale.
    """
    if scale is None or distances:
        return f"distance {score:.4g}"
    return f"closeness {scale.closeness(score):.1f} of 100"


def limit_in_words(answer: Any, distances: bool = False) -> str:
    """Returns the threshold and its false accept rate in words, or an empty text if there is no
    threshold.

    Args:
        answer: A result such as a `Decision`, with the attributes `threshold`, `far`,
            `extrapolated` and `provisional`. If `distances` is False, the result must also have the
            attribute `scale`.
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
