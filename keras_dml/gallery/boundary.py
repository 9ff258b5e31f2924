"""Boundaries at which a growing recording is accepted or rejected (sequential decisions)."""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_dml import _percents, evaluation


@dataclasses.dataclass(frozen=True)
class Boundary:
    """Limits of the scores of a recording's windows.

    Attributes:
        far: Promised false match rate for new people, on average over the groups of people that
            boundaries are set on. It holds whenever the claim ends and in any order of the windows.
            See `compute_boundary` for the recordings for which it holds.
        value: Largest score of a window that is accepted.
        reject_above: Largest length-aware mean score that is not rejected before the last window,
            see `compute_boundary`.
        spread: Standard deviation between the windows of one false claim's recording.
        window: Steps of a window.
        windows: Number of windows after which a claim that is not accepted is rejected.
        seen: False match rate between the people that it was set on.
        far_ci95: 95 % interval of the false match rate among as many other people.
        tar: Fraction of their genuine claims that are accepted (true accept rate).
        tar_ci95: 95 % interval of `tar`.
        steps_to_accept: Median number of steps after which a genuine claim was accepted; None if
            none was accepted.
        steps_to_reject: Median number of steps after which a false claim was rejected; None if none
            was rejected.
        people: Number of people that it was set on.
        trials: Number of their imposter trials.
        enrolled: Median number of recordings per person. With more recordings enrolled per person,
            false claims are accepted more often.
        rate_hz: Steps per second of the recordings; None if the model does not state it.
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
    accepts_by: str = "mean"  # galleries of earlier versions do not store it

    def __post_init__(self):
        limits = self.value, self.reject_above, self.spread
        if not np.isfinite(limits).all():  # an infinite one from a foreign file accepts everybody
            raise ValueError(f"The limits of a boundary are {limits}, but they must be finite.")
        for name in ("far_ci95", "tar_ci95"):  # JSON gives lists
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def limits(self, heard: int) -> tuple[float, float]:
        """Returns the limits after a number of windows.

        Args:
            heard: Number of windows.

        Returns:
            The largest score of a window that is accepted, and the largest mean score that is not
            rejected.
        """
        return self.value, self.reject_above + self.spread / np.sqrt(heard)

    def decide(self, least: float, mean: float, heard: int) -> bool | None:
        """Decides on a claim.

        Args:
            least: Least score of the windows so far.
            mean: Mean score of the windows so far.
            heard: Number of windows so far.

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


def compute_boundary(
    scores: np.ndarray, probes: np.ndarray, claims: np.ndarray, far: float, window: int
) -> Boundary:
    """Computes the `Boundary` of recordings whose people claim to be each other.

    A claim is accepted as soon as the score of one window is at most a threshold. So the score of a
    whole claim is the least score of its windows, and `keras_dml.evaluation.promise` bounds how
    often a false claim of two new people has such a window. The least score does not depend on the
    order of the windows, and a repeated window does not change it. The promise therefore holds for
    everything that an imposter can do with the windows of one recording: repeat them, leave some
    out, or play them in another order. It does not hold for the best of several recordings, or for
    a recording that is changed until a window matches, because each of these is one more claim.

    A mean score whose limit becomes looser with more windows accepts genuine claims slightly more
    often. But an imposter who repeats his best window lowers the mean to the score of this window.

    A genuine claim may be rejected early. After k windows of mean score m, its length-aware score
    is `m - s / sqrt(k)`, with s the standard deviation between windows. The claim is rejected if
    this score is larger than it was for any of the n people here before they were accepted. The
    probability that the score of a new person is that large is at most 1 / (n + 1).

    Args:
        scores: Distance of each window to the nearest recording of the person claimed, shape
            `(claims, windows)`.
        probes: Person of each claim's recording.
        claims: Person claimed.
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
    """Returns the median number of steps until a claim crosses a limit; None if none crosses."""
    ever = crossed[crossed[:, -1]]
    return float(window * np.median(ever.argmax(axis=1) + 1)) if len(ever) else None
