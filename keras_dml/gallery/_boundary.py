"""Decides when a growing recording is accepted or rejected."""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_dml import _percents, evaluation


@dataclasses.dataclass(frozen=True)
class Boundary:
    """Limits of the scores of a recording's windows.

    Attributes:
        far: False match rate that is promised, at whatever moment it stops and in whatever order
            the windows come, to people never used, on average over the people that boundaries are
            set on. See `boundary` for the recordings for which it holds.
        value: Largest score of a window that is accepted.
        reject_above: Largest length-aware mean score that is not rejected before the last window,
            see `boundary`.
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
        accepts_by: `"least"`: a claim is accepted by the least score of its windows. `"mean"`: an
            earlier version set the boundary for mean scores. An imposter who repeats one window
            breaks its promise, so `listen` refuses it.
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
    accepts_by: str = "mean"  # galleries of earlier versions do not name it

    def __post_init__(self):
        limits = self.value, self.reject_above, self.spread
        if not np.isfinite(limits).all():  # as of a stranger's file: it would accept everybody
            raise ValueError(f"Limits of a boundary are finite. Received {limits}.")
        for name in ("far_ci95", "tar_ci95"):  # lists, where they were kept
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def limits(self, heard):
        """The largest score of a window that is accepted, and the largest mean score of so many
        windows that is not rejected."""
        return self.value, self.reject_above + self.spread / np.sqrt(heard)

    def decide(self, least, mean, heard):
        """Decides on a claim.

        Args:
            least: Least score of the windows heard.
            mean: Mean score of the windows heard.
            heard: Number of windows heard.

        Returns:
            True if the claim is accepted, False if it is rejected, None if it is not decided yet.
        """
        accepted, rejected = self.limits(heard)
        if least <= accepted:
            return True
        return False if mean > rejected or heard >= self.windows else None

    def __str__(self):
        unit = "steps" if self.rate_hz is None else "seconds"
        refused = "; refused by `listen`, set it again" if self.accepts_by == "mean" else ""
        return (
            f"FAR at most {100 * self.far:g} % whenever it stops ({100 * self.seen:.2g} % seen, "
            f"95 % interval {_percents.interval(self.far_ci95)}, {self.people} people, "
            f"{self.trials:,} imposter trials), TAR {100 * self.tar:.1f} %; {unit} in the median: "
            f"{self._time(self.steps_to_accept)} to accept, {self._time(self.steps_to_reject)} to "
            f"reject, {self._time(self.window * self.windows)} at most{refused}"
        )

    def _time(self, steps):
        if steps is None:
            return "none"
        return f"{steps:,g}" if self.rate_hz is None else f"{steps / self.rate_hz:.3g}"


def boundary(scores, probes, claims, far, window):
    """Computes the `Boundary` of recordings whose people claim to be each other.

    A claim is accepted as soon as one window has a score of at most a threshold. So the least score
    of a recording's windows is the one score of its claim, and `keras_dml.evaluation.promise`
    bounds how often a false claim of two new people has such a window. The least score does not
    depend on the order of the windows, and a window that is heard again does not change it. The
    promise therefore holds for all that an imposter can make of the windows of one recording: they
    may be repeated, left out or played in any order. It does not hold for the best of several
    recordings, or for a recording that is changed until a window matches: each is one more claim.

    A mean score that is trusted more the longer it is heard accepts genuine claims slightly more
    often, but an imposter who repeats the best of his windows lowers it to the score of this
    window.

    A genuine claim may be rejected early. After k windows of mean score m, its length-aware score
    is `m - s / sqrt(k)`, with s the standard deviation of a window. The claim is rejected if this
    is larger than it was for any of these n people before they were accepted. A new person's score
    is that large with a probability of at most 1 / (n + 1).

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
    least = np.minimum.accumulate(scores, axis=1)
    reached = least[:, -1]
    limit = evaluation.promise(reached[~genuine], (probes[~genuine], claims[~genuine]), far)
    accepted = least <= limit.threshold
    undecided = np.where(accepted, -np.inf, mean - error)
    reject_above = max(limit.threshold, undecided[genuine].max())
    rejected = np.maximum.accumulate(undecided > reject_above, axis=1)
    rejected[:, -1] |= ~accepted[:, -1]
    rates = evaluation.accept_rates(reached, genuine, limit.threshold, people=(probes, claims))
    return Boundary(
        far=limit.far,
        value=limit.threshold,
        reject_above=float(reject_above),
        spread=float(spread),
        window=int(window),
        windows=count,
        seen=limit.rate,
        far_ci95=limit.ci95,
        tar=rates.tar,
        tar_ci95=rates.tar_ci95,
        steps_to_accept=_median_steps(accepted[genuine], window),
        steps_to_reject=_median_steps(rejected[~genuine], window),
        people=limit.people,
        trials=limit.trials,
        accepts_by="least",
    )


def _median_steps(crossed, window):
    """Median number of steps until a claim has crossed; None where none has."""
    ever = crossed[crossed[:, -1]]
    return float(window * np.median(ever.argmax(axis=1) + 1)) if len(ever) else None
