"""Decision thresholds of `listen`, which decides while a recording is still being made (sequential
test)."""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_dml import _figures, evaluation


@dataclasses.dataclass(frozen=True)
class Boundary:
    """Decision thresholds that `listen` applies to the scores of windows.

    Attributes:
        far: Upper limit of the false match rate for new people. The upper limit of the rate is
            guaranteed on average over random groups of calibration people. The upper limit is valid
            for claims of any length and for windows in any order. `compute_boundary` states for
            which recordings the rate is guaranteed.
        value: Largest score with which a window is accepted.
        reject_above: Limit of the length-aware score, see `compute_boundary`. A claim is rejected
            as soon as its length-aware score exceeds the limit.
        spread: Standard deviation of the window scores within a false claim.
        window: Number of time steps per window.
        windows: Number of windows after which a claim is rejected if no window was accepted.
        seen: False match rate that was measured between the calibration people.
        far_ci95: 95 % confidence interval of the false match rate in other groups with the same
            number of people.
        tar: Fraction of the calibration people's genuine claims that are accepted (true accept
            rate).
        tar_ci95: 95 % confidence interval of `tar`.
        steps_to_accept: Median number of steps after which a genuine claim was accepted. None if
            no genuine claim was accepted.
        steps_to_reject: Median number of steps after which a false claim was rejected. None if no
            false claim was rejected.
        people: Number of calibration people.
        trials: Number of false claims (imposter trials) between calibration people.
        enrolled: Median number of recordings per calibration person. If a gallery has more
            recordings per person than `enrolled`, false claims are accepted more often.
        rate_hz: Number of time steps per second in the recordings. None if the model does not state
            its rate.
        accepts_by: `"least"` if the decision depends on the least score of the windows. `"mean"` if
            an earlier version of the library set thresholds for the mean score of the windows.
            `listen` refuses thresholds for mean scores, because an imposter who repeats one window
            is accepted more often than the rate allows.
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
    accepts_by: str = "mean"  # galleries of earlier versions do not store this field

    def __post_init__(self) -> None:
        limits = self.value, self.reject_above, self.spread
        if not np.isfinite(limits).all():  # such a limit in a foreign file accepts everybody
            raise ValueError(f"The limits of a boundary are {limits}, but they must be finite.")
        for name in ("far_ci95", "tar_ci95"):  # JSON has no tuples
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def limits(self, heard: int) -> tuple[float, float]:
        """Returns the two decision thresholds after a number of windows.

        Args:
            heard: Number of windows.

        Returns:
            Threshold for accepting and threshold for rejecting. A claim is accepted if the score of
            a window is at most the threshold for accepting. A claim is rejected if the mean score
            of the windows exceeds the threshold for rejecting.
        """
        return self.value, self.reject_above + self.spread / np.sqrt(heard)

    def decide(self, least: float, mean: float, heard: int) -> bool | None:
        """Decides on a claim after some windows of its recording.

        Args:
            least: Least score of the windows so far.
            mean: Mean score of the windows so far.
            heard: Number of windows so far.

        Returns:
            True to accept the claim, False to reject it, None to wait for the next window.
        """
        accepted, rejected = self.limits(heard)
        if least <= accepted:
            return True
        return False if mean > rejected or heard >= self.windows else None

    def __str__(self) -> str:
        unit = "steps" if self.rate_hz is None else "seconds"
        is_mean = self.accepts_by == "mean"
        refused = ". `listen` refuses this threshold. Set the threshold again" if is_mean else ""
        return (
            f"FAR at most {100 * self.far:g} % whenever a claim ends (measured FAR "
            f"{100 * self.seen:.2g} %, 95 % interval {_figures.interval(self.far_ci95)}, "
            f"{self.people} people, {self.trials:,} imposter trials), TAR {100 * self.tar:.1f} %. "
            f"Median {unit}: {self._time(self.steps_to_accept)} to accept, "
            f"{self._time(self.steps_to_reject)} to reject. Longest claim: "
            f"{self._time(self.window * self.windows)} {unit}{refused}"
        )

    def _time(self, steps):
        if steps is None:
            return "none"
        return f"{steps:,g}" if self.rate_hz is None else f"{steps / self.rate_hz:.3g}"


def compute_boundary(
    scores: np.ndarray, probes: np.ndarray, claims: np.ndarray, far: float, window: int
) -> Boundary:
    """Computes the `Boundary` from the scores of genuine and false claims.

    A claim is accepted as soon as the score of one window is at most a threshold. The score of a
    whole claim is therefore the least score of its windows. `keras_dml.evaluation.promise` computes
    the threshold. If the claimed person and the imposter are new, the threshold guarantees a limit
    on how often false claims are accepted. The least score does not depend on the order of the
    windows, and repeating a window does not change the least score. The guarantee therefore remains
    valid if an imposter repeats windows of a recording, leaves windows out, or plays the windows in
    another order. The guarantee is not valid if an imposter tries several recordings, or changes a
    recording until a window matches, because each attempt is another claim.

    An alternative is a threshold that limits the mean score of the windows and becomes looser with
    each window. A threshold for the mean score would accept genuine claims slightly more often.
    However, an imposter could lower the mean score by repeating the best window of a recording.

    A claim may be rejected before its last window. The length-aware score of k windows with the
    mean score m is `m - s / sqrt(k)`, where s is the standard deviation of the window scores within
    a false claim. A claim is rejected if its length-aware score exceeds the rejection limit. The
    rejection limit is the largest length-aware score that a genuine claim of the n calibration
    people had before the claim was accepted. The length-aware score of a new person's genuine claim
    exceeds the rejection limit with a probability of at most 1 / (n + 1).

    Args:
        scores: Distance from each window to the nearest recording of the claimed person, shape
            `(claims, windows)`.
        probes: Name of the person who made the recording of each claim, shape `(claims,)`.
        claims: Name of the claimed person in each claim, shape `(claims,)`.
        far: False match rate, above 0 and below 1.
        window: Number of time steps per window.

    Raises:
        ValueError: If there are too few people to guarantee the rate.
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
    """Returns the median number of steps to a decision, or None if no claim was decided."""
    ever = crossed[crossed[:, -1]]
    return float(window * np.median(ever.argmax(axis=1) + 1)) if len(ever) else None
