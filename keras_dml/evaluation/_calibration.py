"""Converts scores to log likelihood ratios, and measures how well log likelihood ratios are
calibrated.

The log likelihood ratio (LLR) of a trial is the natural logarithm of the ratio of two probability
densities of the score: the density for genuine trials, and the density for imposter trials. The
posterior odds of a genuine trial are the prior odds times the likelihood ratio.

- `logistic_calibration` fits an increasing straight line from scores to LLRs, by logistic
  regression.
- `pav_calibration` fits an increasing step function, by the pool adjacent violators algorithm.
- `cllr` computes the cost of LLRs, averaged over all priors and costs. `min_cllr` computes the
  cost after the best increasing map, so `min_cllr` measures only how well the scores separate
  genuine trials from imposter trials.
- `empirical_cross_entropy` computes the cost for each prior.

Measure the cost of a calibration on people who were not used to fit the calibration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from keras_dml import _optional
from keras_dml._arrays import number, real
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._checks import check_finite, check_trials

FLAT = 1e-6  # a slope per standard deviation of the scores that counts as 0
SIMILARITIES = (
    "Genuine trials have larger `scores` than imposter trials, but `scores` must be distances, "
    "which are smaller for genuine trials. Pass `-scores` if the scores are similarities."
)


@dataclass(frozen=True)
class LogisticCalibration:
    """Straight line from scores to log likelihood ratios. Call the object with scores.

    Attributes:
        slope: Change of the log likelihood ratio per unit of the score. The slope is negative,
            because scores are distances.
        offset: Log likelihood ratio at the score 0.
        genuine: Number of genuine trials that were used to fit the line.
        imposter: Number of imposter trials that were used to fit the line.
    """

    slope: float
    offset: float
    genuine: int
    imposter: int

    def __call__(self, scores: ArrayLike) -> np.ndarray:
        """Returns the log likelihood ratio of each score, float64 in the shape of `scores`."""
        scores = real("`scores`", scores, np.float64)
        check_finite("scores", scores)
        return self.offset + self.slope * scores


@dataclass(frozen=True, eq=False)
class PavCalibration:
    """Decreasing step function from scores to log likelihood ratios. Call the object with scores.

    Between two neighboring scores, the posterior probability is interpolated linearly. Beyond the
    smallest and the largest score, the function is constant.

    Attributes:
        scores: Distances of the trials at which the function changes, ascending, shape `(points,)`.
        probabilities: Posterior probability of a genuine trial for equal priors, shape `(points,)`.
        genuine: Number of genuine trials that were used to fit the function.
        imposter: Number of imposter trials that were used to fit the function.
    """

    scores: np.ndarray
    probabilities: np.ndarray
    genuine: int
    imposter: int

    def __call__(self, scores: ArrayLike) -> np.ndarray:
        """Returns the log likelihood ratio of each score, float64 in the shape of `scores`.

        The value is infinite for scores below all imposter scores, and minus infinity for scores
        above all genuine scores.
        """
        scores = real("`scores`", scores, np.float64)
        check_finite("scores", scores)
        probabilities = np.interp(scores, self.scores, self.probabilities)
        with np.errstate(divide="ignore"):
            return np.log(probabilities) - np.log1p(-probabilities)


def logistic_calibration(
    scores: ArrayLike, genuine: ArrayLike, *, prior: float = 0.5
) -> LogisticCalibration:
    """Fits a straight line from scores to log likelihood ratios, by logistic regression.

    The weights of the trials are chosen so that the genuine trials have the total weight `prior`
    and the imposter trials have the total weight `1 - prior` (Bruemmer2006). The logistic
    regression is not regularized.

    Args:
        scores: Distances of the trials, any shape. Smaller is closer. For a similarity `S`, pass
            `-S` as the scores.
        genuine: Booleans in the shape of `scores`, True if the probe person is the claimed person.
        prior: Probability of a genuine trial for which the line should fit best, above 0 and
            below 1.

    Returns:
        `LogisticCalibration`.

    Raises:
        ImportError: If scikit-learn is not installed.
        TypeError: If `genuine` is not boolean.
        ValueError: If the trials are invalid (see `verification`), if `prior` is not between 0 and
            1, if all scores are equal, if genuine trials have the larger scores, as similarities
            do, or if the line would not be finite, because a threshold separates all genuine trials
            from all imposter trials.

    >>> scores = np.array([0.1, 0.2, 0.6, 0.5, 0.7, 0.8])
    >>> to_llr = logistic_calibration(scores, np.arange(6) < 3)
    >>> np.round(to_llr([0.1, 0.9]), 1)
    array([ 4. , -3.7])
    """
    _check_prior(prior)
    scores, genuine = check_trials(scores, genuine)
    with _optional.explained():
        from sklearn.linear_model import LogisticRegression
    if scores.min() == scores.max():
        raise ValueError(
            f"All scores are equal ({scores[0]:g}). A calibration needs scores that differ. Check "
            "the model that computed the scores."
        )
    if scores[~genuine].max() <= scores[genuine].min():
        raise ValueError(SIMILARITIES)
    if scores[genuine].max() <= scores[~genuine].min():
        raise ValueError(
            "A threshold separates all genuine trials from all imposter trials, so the slope of "
            "the logistic regression is not finite. "
            + (
                "The scores have only two different values. Use scores with more digits."
                if np.unique(scores).size == 2
                else "Use trials of more people."
            )
        )
    count = int(genuine.sum())
    weights = np.where(genuine, prior / count, (1 - prior) / (genuine.size - count)) * genuine.size
    # The solver needs numbers near 1. Squares of `units` do not overflow.
    low, span = scores.min(), scores.max() - scores.min()
    units = (scores - low) / span
    center, spread = units.mean(), units.std()
    model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000)
    model.fit(((units - center) / spread)[:, None], genuine, sample_weight=weights)
    slope = float(model.coef_[0, 0])
    if slope > FLAT:
        raise ValueError(SIMILARITIES)
    slope = slope / spread / span
    offset = float(model.intercept_[0]) - slope * (low + center * span)
    offset -= math.log(prior / (1 - prior))
    return LogisticCalibration(float(slope), float(offset), count, genuine.size - count)


def pav_calibration(scores: ArrayLike, genuine: ArrayLike) -> PavCalibration:
    """Fits a step function from scores to log likelihood ratios, by the pool adjacent violators
    algorithm (PAV, isotonic regression).

    The step function is the increasing map of similarities with the least `cllr` on the given
    trials (Bruemmer2006).

    Args:
        scores: Distances of the trials, any shape. Smaller is closer. For a similarity `S`, pass
            `-S` as the scores.
        genuine: Booleans in the shape of `scores`, True if the probe person is the claimed person.

    Returns:
        `PavCalibration`.

    Raises:
        ImportError: If scikit-learn is not installed.
        TypeError: If `genuine` is not boolean.
        ValueError: If the trials are invalid (see `verification`).

    >>> scores = np.array([0.1, 0.2, 0.6, 0.5, 0.7, 0.8])
    >>> to_llr = pav_calibration(scores, np.arange(6) < 3)
    >>> np.round(to_llr([0.1, 0.55, 0.9]), 1)
    array([ inf,   0., -inf])
    """
    scores, genuine = check_trials(scores, genuine)
    with _optional.explained():
        from sklearn.isotonic import IsotonicRegression
    count = int(genuine.sum())
    weights = np.where(genuine, 1 / count, 1 / (genuine.size - count))
    model = IsotonicRegression(y_min=0, y_max=1, increasing=False, out_of_bounds="clip")
    # scikit-learn merges scores that are close to each other, so it gets ranks.
    values, ranks = np.unique(scores, return_inverse=True)
    model.fit(ranks, genuine.astype(np.float64), sample_weight=weights)
    return PavCalibration(
        scores=values[model.X_thresholds_.astype(int)],
        probabilities=model.y_thresholds_,
        genuine=count,
        imposter=genuine.size - count,
    )


def cllr(log_likelihood_ratios: ArrayLike, genuine: ArrayLike) -> float:
    """Computes the cost of log likelihood ratios, Cllr (Bruemmer2006).

    `(mean over genuine of log2(1 + exp(-llr)) + mean over imposter of log2(1 + exp(llr))) / 2`.
    The cost is 0 for perfect ratios, and 1 if all LLRs are 0. A cost above 1 means that decisions
    based on the ratios are worse than decisions without them.

    Args:
        log_likelihood_ratios: Natural logarithms of the likelihood ratios, any shape. Values may be
            infinite. Larger means more likely genuine.
        genuine: Booleans in the shape of `log_likelihood_ratios`, True if the probe person is the
            claimed person.

    Returns:
        Cost in bits, 0 or more. The cost is infinite if an infinite ratio is wrong.

    Raises:
        TypeError: If `genuine` is not boolean.
        ValueError: If shapes differ, if a ratio is NaN, or if genuine trials or imposter trials are
            missing.

    >>> cllr([0.0, 0.0], np.array([True, False]))
    1.0
    """
    llrs, genuine = check_ratios(log_likelihood_ratios, genuine)
    return _bits(-llrs[genuine]) / 2 + _bits(llrs[~genuine]) / 2


def min_cllr(scores: ArrayLike, genuine: ArrayLike) -> float:
    """Computes the least Cllr that any increasing map of similarities gives on the trials, min Cllr
    (Bruemmer2006).

    The map is `pav_calibration`, fitted on the same trials. The difference `cllr - min_cllr` is the
    loss due to calibration.

    Args:
        scores: Distances of the trials, any shape. Smaller is closer. For similarities or log
            likelihood ratios, pass their negative values.
        genuine: Booleans in the shape of `scores`, True if the probe person is the claimed person.

    Returns:
        Cost in bits, from 0 (a threshold separates all trials) to 1.

    Raises:
        ImportError: If scikit-learn is not installed.
        TypeError: If `genuine` is not boolean.
        ValueError: If the trials are invalid (see `verification`).

    >>> round(min_cllr([0.1, 0.2, 0.6, 0.5, 0.7, 0.8], np.arange(6) < 3), 3)
    0.333
    """
    return cllr(pav_calibration(scores, genuine)(scores), genuine)


def empirical_cross_entropy(
    log_likelihood_ratios: ArrayLike, genuine: ArrayLike, log_prior_odds: ArrayLike
) -> np.ndarray:
    """Computes the empirical cross-entropy (ECE) of log likelihood ratios for each prior
    (Ramos2013).

    `p mean over genuine of log2(1 + exp(-llr - o)) + (1 - p) mean over imposter of
    log2(1 + exp(llr + o))`, where o is the logarithm of the prior odds and p is the prior
    probability of a genuine trial. If all LLRs are 0, the ECE is the entropy of the prior. The ECE
    at the prior odds 1 is the Cllr.

    Args:
        log_likelihood_ratios: Natural logarithms of the likelihood ratios, any shape. Values may be
            infinite.
        genuine: Booleans in the shape of `log_likelihood_ratios`, True if the probe person is the
            claimed person.
        log_prior_odds: Natural logarithms of the prior odds, shape `(priors,)`.

    Returns:
        Cross-entropy in bits, shape `(priors,)`.

    Raises:
        TypeError: If `genuine` is not boolean.
        ValueError: If the ratios are invalid (see `cllr`), or if `log_prior_odds` has more than
            one axis or a value that is not finite.

    >>> llrs, genuine = [2.0, -1.0], np.array([True, False])
    >>> empirical_cross_entropy(llrs, genuine, [0.0])[0] == cllr(llrs, genuine)
    np.True_
    """
    llrs, genuine = check_ratios(log_likelihood_ratios, genuine)
    odds = np.atleast_1d(real("`log_prior_odds`", log_prior_odds, np.float64))
    if odds.ndim != 1:
        raise ValueError(
            f"Received `log_prior_odds` of shape {odds.shape}. Expected the shape (priors,)."
        )
    check_finite("log_prior_odds", odds)
    return np.array(
        [
            _weighted(expit(o), -llrs[genuine] - o) + _weighted(expit(-o), llrs[~genuine] + o)
            for o in odds
        ]
    )


def check_ratios(log_likelihood_ratios, genuine):
    """Checks log likelihood ratios, which may be infinite, and flattens them.

    Returns:
        Tuple `(llrs, genuine)` of a float64 array and a boolean array, both of shape `(trials,)`.
    """
    llrs = real("`log_likelihood_ratios`", log_likelihood_ratios, np.float64)
    if np.isnan(llrs).any():
        raise ValueError(
            f"`log_likelihood_ratios` must not be NaN. {int(np.isnan(llrs).sum())} of {llrs.size} "
            "values are NaN. Drop the trials without a score."
        )
    if llrs.shape != np.shape(genuine):
        raise ValueError(
            f"Received `log_likelihood_ratios` of shape {llrs.shape} and `genuine` of shape "
            f"{np.shape(genuine)}. Expected equal shapes. Pass one ratio and one boolean for each "
            "trial."
        )
    _, genuine = check_trials(np.where(np.isfinite(llrs), llrs, 0.0), genuine)
    return llrs.ravel(), genuine


def _check_prior(prior):
    if not 0.0 < number("prior", prior) < 1.0:
        raise ValueError(f"`prior` must be a probability above 0 and below 1. Received {prior!r}.")


def _weighted(weight, exponents):
    """Returns `weight * _bits(exponents)`, which is 0 if the weight is 0 and the bits are
    infinite."""
    return weight * _bits(exponents) if weight else 0.0


def _bits(exponents):
    """Returns the mean of log2(1 + exp(x))."""
    return float(-log_expit(-exponents).mean() / math.log(2)) + 0.0  # not -0
