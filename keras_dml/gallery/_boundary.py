"""When a growing recording is accepted or rejected: a boundary that holds whenever it stops."""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_dml import _percents, evaluation


@dataclasses.dataclass(frozen=True)
class Boundary:
    """Limits of the mean score of a recording's first windows, by their number.

    Attributes:
        far: False match rate that is promised, at whatever moment it stops, to people never used,
            on average over the people that boundaries are set on.
        value: Largest length-aware score that is accepted, see `boundary`.
        reject_above: Largest one, on the other side, that is not rejected before the last window.
        spread: Standard deviation between the windows of one recording's false claim.
        window: Steps of a window.
        windows: Number of windows after which a claim that is not accepted is rejected.
        seen: False match rate between the people that it was set on.
        far_ci95: 95 % interval of that of as many other people.
        tar: Fraction of their genuine claims that it accepts.
        tar_ci95: 95 % interval of that fraction.
        steps_to_accept: Median number of steps after which a genuine claim was accepted; None where
            none was.
        steps_to_reject: The same of a false claim that was rejected.
        people: Number of people that it was set on.
        trials: Number of their imposter trials.
        enrolled: Recordings of a person, the median: with more of a person enrolled, false claims
            are accepted more often.
        rate_hz: Steps per second of the recordings; None if the model does not say it.
    """

    far: float
    value: float
    reject_above: float
    spread: float
    window: int
    windows: int
    seen: float
    far_ci95: tuple[float, float]
    tar: float
    tar_ci95: tuple[float, float]
    steps_to_accept: float | None
    steps_to_reject: float | None
    people: int
    trials: int
    enrolled: int | None = None
    rate_hz: float | None = None

    def __post_init__(self):
        limits = self.value, self.reject_above, self.spread
        if not np.isfinite(limits).all():  # as of a stranger's file: it would accept everybody
            raise ValueError(f"Limits of a boundary are finite. Received {limits}.")
        for name in ("far_ci95", "tar_ci95"):  # lists, where they were kept
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def limits(self, heard):
        """The largest mean score of so many windows that is accepted, and the largest one that is
        not rejected."""
        error = self.spread / np.sqrt(heard)
        return self.value - error, self.reject_above + error

    def decide(self, mean, heard):
        """True where a mean score of so many windows is accepted, False where it is rejected, None
        where it is neither yet."""
        accepted, rejected = self.limits(heard)
        if mean <= accepted:
            return True
        return False if mean > rejected or heard >= self.windows else None

    def __str__(self):
        unit = "steps" if self.rate_hz is None else "seconds"
        return (
            f"FAR at most {100 * self.far:g} % whenever it stops ({100 * self.seen:.2g} % seen, "
            f"95 % interval {_percents.interval(self.far_ci95)}, {self.people} people, "
            f"{self.trials:,} imposter trials), TAR {100 * self.tar:.1f} %; {unit} in the median: "
            f"{self._time(self.steps_to_accept)} to accept, {self._time(self.steps_to_reject)} to "
            f"reject, {self._time(self.window * self.windows)} at most"
        )

    def _time(self, steps):
        if steps is None:
            return "none"
        return f"{steps:,g}" if self.rate_hz is None else f"{steps / self.rate_hz:.3g}"


def boundary(scores, probes, claims, far, window):
    """The `Boundary` of recordings whose people claim to be each other.

    The windows of one recording resemble each other, so a rate of single windows says nothing of a
    recording that may stop at any of them. What counts is whether it ever crosses the boundary.
    After k windows of mean score m, its length-aware score is `m + s / sqrt(k)`, with s the spread
    of a window: an early mean is trusted less. The least that a false claim reaches is its one
    score, and `keras_dml.evaluation.promise` bounds how often that of two new people is accepted,
    given spread and number of windows: the spread is of the same people, one number of all their
    false claims, and taken as known. A genuine claim may leave early on the other side: where `m
    - s / sqrt(k)` is above what that of any of these n people was before it was accepted, which a
    new person's is with a probability of at most 1 / (n + 1).

    Args:
        scores: Distance of each window to the nearest recording of the person claimed, shape
            `(claims, windows)`.
        probes: Person of each claim's recording.
        claims: Person of each claim.
        far: False match rate, above 0 and below 1.
        window: Steps of a window.

    Raises:
        ValueError: If the people are too few to promise the rate.
    """
    genuine = probes == claims
    count = scores.shape[1]
    heard = np.arange(1, count + 1)
    spread = np.sqrt(scores[~genuine].var(axis=1, ddof=1).mean()) if count > 1 else 0.0
    mean, error = np.cumsum(scores, axis=1) / heard, spread / np.sqrt(heard)
    reached = (mean + error).min(axis=1)
    found = evaluation.promise(reached[~genuine], (probes[~genuine], claims[~genuine]), far)
    accepted = np.maximum.accumulate(mean + error <= found.threshold, axis=1)
    undecided = np.where(accepted, -np.inf, mean - error)
    reject_above = max(found.threshold, undecided[genuine].max())
    rejected = np.maximum.accumulate(undecided > reject_above, axis=1)
    rejected[:, -1] |= ~accepted[:, -1]
    rates = evaluation.accept_rates(reached, genuine, found.threshold, people=(probes, claims))
    return Boundary(
        far=found.far,
        value=found.threshold,
        reject_above=float(reject_above),
        spread=float(spread),
        window=int(window),
        windows=count,
        seen=found.rate,
        far_ci95=found.ci95,
        tar=rates.tar,
        tar_ci95=rates.tar_ci95,
        steps_to_accept=_median_steps(accepted[genuine], window),
        steps_to_reject=_median_steps(rejected[~genuine], window),
        people=found.people,
        trials=found.trials,
    )


def _median_steps(crossed, window):
    """Median number of steps until a claim has crossed; None where none has."""
    ever = crossed[crossed[:, -1]]
    return float(window * np.median(ever.argmax(axis=1) + 1)) if len(ever) else None
