"""What a gallery answers. No answer holds an embedding."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Enrollment:
    """What became of recordings that were to be enrolled.

    Attributes:
        person: Name of the person.
        kept: Indices of the recordings that are enrolled now.
        refused: Why each other one is not, by its index.
        enrolled: Recordings of the person in the gallery, these included.
    """

    person: str
    kept: tuple[int, ...]
    refused: dict[int, str]
    enrolled: int

    def __str__(self):
        said = f"{self.person}: {len(self.kept)} recordings enrolled, {self.enrolled} in all"
        reasons = (f"recording {i}: {reason}" for i, reason in self.refused.items())
        return "\n".join([said, *reasons])


@dataclasses.dataclass(frozen=True)
class Threshold:
    """A distance up to which a claim is accepted, and what it lets pass.

    Attributes:
        far: False accept rate that was asked for.
        value: The threshold, in the model's distances.
        far_ci95: 95 % interval of its false accept rate, over the people that it was set on.
        tar: Fraction of the genuine claims that it accepts.
        tar_ci95: 95 % interval of that fraction.
        people: Number of these people.
        trials: Number of their imposter trials.
    """

    far: float
    value: float
    far_ci95: tuple[float, float]
    tar: float
    tar_ci95: tuple[float, float]
    people: int
    trials: int

    def __str__(self):
        low, high = (100 * bound for bound in self.far_ci95)
        return (
            f"threshold {self.value:.4g} for FAR {100 * self.far:g} % (95 % interval {low:.2g} to "
            f"{high:.2g} %, {self.people} people, {self.trials:,} imposter trials), TAR "
            f"{100 * self.tar:.1f} %"
        )


@dataclasses.dataclass(frozen=True)
class Decision:
    """Whether a claim is accepted.

    Attributes:
        accepted: Whether it is.
        person: The person claimed.
        score: Mean over the recordings of the least distance to those enrolled; smaller is closer.
        threshold: Accepted where `score <= threshold`.
        denied: Whether a recording is nearest to one that was marked as not this person's.
    """

    accepted: bool
    person: str
    score: float
    threshold: float
    denied: bool = False

    def __str__(self):
        said = "accepted" if self.accepted else "rejected"
        reason = ", nearest to a recording marked as another person's" if self.denied else ""
        return f"{self.person} {said}: {self.score:.4g}, threshold {self.threshold:.4g}{reason}"


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A person of the gallery, and how far the recordings are from theirs."""

    person: str
    score: float


@dataclasses.dataclass(frozen=True)
class Identification:
    """Who it is, or that it is a stranger.

    Attributes:
        person: The nearest person, if within the threshold; None for a stranger.
        candidates: The nearest people, nearest first.
        threshold: Largest score of a person who is no stranger.
        people: Number of people that were compared.
    """

    person: str | None
    candidates: tuple[Candidate, ...]
    threshold: float
    people: int

    def __str__(self):
        nearest = ", ".join(f"{one.person} {one.score:.4g}" for one in self.candidates)
        return f"{self.person or 'a stranger'} ({nearest}; threshold {self.threshold:.4g})"
