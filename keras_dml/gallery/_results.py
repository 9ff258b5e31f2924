"""What a gallery answers. No answer holds an embedding."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

from keras_dml import _percents, evaluation
from keras_dml.gallery._closeness import Scale

PROVISIONAL = "from the model's card"
MOVED = "the card's, moved to these people"


@dataclasses.dataclass(frozen=True)
class Enrollment:
    """What became of recordings that were to be enrolled.

    Attributes:
        person: Name of the person.
        kept: Indices of the recordings that are enrolled now.
        refused: Why each other one is not, by its index.
        enrolled: Recordings of the person in the gallery, these included.
        ids: Id of each recording kept, for `Gallery.forget`.
        repeated: Recordings that count once, by their index: the index of the earlier recording
            that each one repeats; None if that one was enrolled before.
    """

    person: str
    kept: tuple[int, ...]
    refused: dict[int, str]
    enrolled: int
    ids: tuple[str, ...] = ()
    repeated: dict[int, int | None] = dataclasses.field(default_factory=dict)

    def __str__(self):
        said = f"{self.person}: {len(self.kept)} recordings enrolled, {self.enrolled} in all"
        repeats = (
            f"recording {i} is enrolled already"
            if first is None
            else f"recording {i} is the same as recording {first}"
            for i, first in self.repeated.items()
        )
        reasons = (f"recording {i}: {reason}" for i, reason in self.refused.items())
        return "\n".join([said, *repeats, *reasons])


class StoredRecording(NamedTuple):
    """A recording that a gallery has stored: its id, and the time in ISO 8601 and UTC."""

    id: str
    created: str


@dataclasses.dataclass(frozen=True)
class GalleryInfo:
    """Facts about a gallery, without its embeddings and names.

    Attributes:
        path: Path of the file, or the URL without its password.
        model: Name or path of the model; None if nothing was written to the gallery yet.
        fingerprint: See `Gallery`; None as above.
        created: Time at which the gallery was made, in ISO 8601 and UTC. Galleries of earlier
            releases do not know it: then the time of the first recording that is stored, or None.
        encrypted: Whether the embeddings are encrypted.
        people: Number of people.
        recordings: Number of recordings enrolled.
        marked: Number of recordings marked as not a person's.
        reading: Options by which the files of the first enrollment were read, `{name: value}`.
        thresholds: `Threshold` by false accept rate.
        boundaries: `Boundary` by false match rate.
        provisional: Thresholds of the model's card, which decide while none is set.
    """

    path: str
    model: str | None
    fingerprint: str | None
    created: str | None
    encrypted: bool
    people: int
    recordings: int
    marked: int
    reading: dict
    thresholds: dict
    boundaries: dict
    provisional: dict


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
    """A distance up to which a claim is accepted, and what it lets pass.

    Attributes:
        far: False accept rate that was asked for.
        value: The threshold, in the model's distances.
        far_ci95: 95 % interval of the false accept rate of as many other people, see
            `keras_dml.evaluation.certificate`.
        tar: Fraction of the genuine claims that it accepts.
        tar_ci95: 95 % interval of that fraction.
        people: Number of these people.
        trials: Number of their imposter trials.
        independent: Number of independent pairs of people that these trials are worth.
        strictest: The lowest rate that these people support.
        method: How it was found: counted over people, extrapolated by a model of the tail,
            `MOVED` or `PROVISIONAL`.
        groups: `GroupRate` of each group, where groups were given.
        enrolled: Recordings of a person, the median: with more of a person enrolled, false claims
            are accepted more often.
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
        if not math.isfinite(self.value):  # as of a stranger's file: it would accept everybody
            raise ValueError(f"A threshold is a finite distance. Received {self.value}.")
        groups = tuple(GroupRate(*group) for group in self.groups)  # lists, where they were kept
        object.__setattr__(self, "groups", groups)

    @property
    def extrapolated(self):
        """Whether the rate is beyond what these people support, and so a model's and no promise."""
        return self.far < self.strictest and self.method not in (MOVED, PROVISIONAL)

    @property
    def is_counted(self):
        """Whether the rate was counted over people of the gallery, who support it."""
        return not self.extrapolated and self.method not in (MOVED, PROVISIONAL)

    @property
    def provisional(self):
        """Whether it is of the people of the model's card, and not of the people of the gallery."""
        return self.method == PROVISIONAL

    def people_needed(self, far):
        """Returns the fewest and the most people whom another rate would need, see
        `keras_dml.evaluation.Certificate`."""
        shown = evaluation.FalseAccepts(
            self.value, self.far, self.far_ci95, self.people, self.trials, self.independent
        )
        return shown.people_needed(far)

    def among(self, people):
        """Returns a bound of the rate at which identification takes a stranger for one of n people
        enrolled (FPIR): `n FAR`, at most 1.

        The rate of people enrolled who are not found (FNIR) has no such bound that is of use: `1 -
        TAR + (n - 1) FAR` was 70 % among 30 people where 12 % was measured. Measure it by
        `keras_dml.evaluation.identification` and `imposters`.

        Args:
            people: Number of people enrolled.
        """
        return min(1.0, people * self.far)

    def __str__(self):
        fewest, most = self.people_needed(self.far / 10)
        said = (
            f"threshold {self.value:.4g} for FAR {100 * self.far:g} % (95 % interval "
            f"{_percents.interval(self.far_ci95)}, {self.method}: {self.people} people, "
            f"{self.trials:,} imposter trials), TAR {100 * self.tar:.1f} %; FAR {10 * self.far:g} "
            f"% would need about {fewest:,} to {most:,} people"
        )
        return "\n".join([said, *map(str, self.groups)])


@dataclasses.dataclass(frozen=True)
class Decision:
    """Whether a claim is accepted.

    Attributes:
        accepted: Whether it is.
        person: The person claimed.
        score: Mean over the recordings of the least distance to those enrolled; smaller is closer.
        threshold: Accepted where `score <= threshold`.
        denied: Whether a recording is nearest to one that was marked as not this person's.
        far: False accept rate of the threshold; None for a threshold of your own.
        extrapolated: Whether that rate is no promise, see `Threshold.extrapolated`.
        provisional: Whether the threshold is the card's, see `Threshold.provisional`.
        scale: What the distances mean, for `closeness`; None where nothing says what is far.
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
    def closeness(self):
        """How close the recordings are: 0 as far as other people usually are, 100 as close as the
        same recording; None without a scale."""
        return None if self.scale is None else self.scale.closeness(self.score)

    def in_words(self, distances=False, scores=True):
        """Returns the decision in words.

        Args:
            distances: Whether to name the model's distances in the place of closeness.
            scores: Whether to say how close the recordings are, and the reason of a denial.
        """
        said = f"{self.person} {'accepted' if self.accepted else 'rejected'}"
        limit = limit_in_words(self, distances)
        if not scores:
            return f"{said}: {limit}"
        reason = ", nearest to a recording marked as another person's" if self.denied else ""
        return f"{said}: {measured_in_words(self.score, self.scale, distances)}, {limit}{reason}"

    def __str__(self):
        return self.in_words()


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A person of the gallery, and how far the recordings are from theirs."""

    person: str
    score: float


@dataclasses.dataclass(frozen=True)
class Identification:
    """Who it is, or that it is a stranger.

    Attributes:
        person: The nearest person, if within the threshold; None for a stranger, or if people tie.
        candidates: The nearest people, nearest first.
        threshold: Largest score of a person who is no stranger; None if there is no threshold: then
            the candidates are all that is known.
        people: Number of people that were compared.
        fpir: False positive identification rate among so many people, see `Threshold.among`; None
            if the threshold's rate was not counted over people, or the bound is 1.
        far: False accept rate of the threshold; None for a threshold of your own.
        extrapolated: Whether these rates are no promise, see `Threshold.extrapolated`.
        provisional: Whether the threshold is the card's, see `Threshold.provisional`.
        tied: The nearest people, if two or more within the threshold are equally near: there is no
            decision between them. Otherwise empty.
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
    def answer(self):
        """The decision in words."""
        if self.threshold is None:
            return "no decision: no threshold is set"
        if self.tied:
            return f"no decision: {' and '.join(self.tied)} are equally near"
        return self.person or "a stranger"

    def limit(self, distances=False):
        """Returns the threshold in words; empty if there is none.

        Args:
            distances: As in `Decision.in_words`.
        """
        return limit_in_words(self, distances)

    def closeness(self, candidate):
        """Returns how close a candidate is, see `Decision.closeness`."""
        return None if self.scale is None else self.scale.closeness(candidate.score)

    @property
    def rates(self):
        """FPIR in words; empty without one."""
        if self.fpir is None:
            return ""
        return f"among {self.people} people FPIR up to {100 * self.fpir:.3g} %"

    def __str__(self):
        nearest = ", ".join(
            f"{one.person} {measured_in_words(one.score, self.scale)}" for one in self.candidates
        )
        words = [nearest, *filter(None, [limit_in_words(self), self.rates])]
        return f"{self.answer} ({'; '.join(words)})"


def measured_in_words(score, scale, distances=False):
    """Returns a score in words.

    Args:
        score: A distance.
        scale: `Scale`, or None.
        distances: Whether to name the distance although there is a scale.
    """
    if scale is None or distances:
        return f"distance {score:.4g}"
    return f"closeness {scale.closeness(score):.1f} of 100"


def limit_in_words(answer, distances=False):
    """Returns the threshold of an answer and the rate that it is for; empty if there is none.

    Args:
        answer: With `threshold`, `far`, `extrapolated`, `provisional` and, unless `distances`,
            `scale`, such as a `Decision`.
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
