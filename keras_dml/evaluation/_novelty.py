"""Novelty detection: does an example belong to a class that was not in the training data?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from keras_dml._arrays import positive, real, whole
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._checks import check_finite, ids
from keras_dml.evaluation._identification import in_percent
from keras_dml.evaluation._intervals import probe_codes, verification_intervals
from keras_dml.evaluation._thresholds import TarAtFar, check_far, tar_at_far
from keras_dml.evaluation._verification import Verification, verification_figures

KINDS = ("max", "energy")


@dataclass(frozen=True, eq=False)
class NoveltyDetection:
    """Figures of how well novelty scores separate new classes from known classes.

    Attributes:
        detection: `Verification` of the novelty scores. Examples of known classes are its genuine
            trials, examples of new classes its imposter trials. With a bootstrap it has intervals
            of the AUC, the EER and the TAR at the wanted rate.
        at_far: `TarAtFar`: fraction of known examples classified as known at a threshold that
            classifies at most the wanted fraction of new examples as known.
    """

    detection: Verification
    at_far: TarAtFar

    @property
    def auroc(self) -> float:
        """Probability that a new example has a larger novelty than a known example (AUROC)."""
        return self.detection.auc

    @property
    def frr_at_far(self) -> float:
        """Fraction of known examples classified as new; NaN if there are too few new examples."""
        return 1.0 - self.at_far.tar

    @property
    def frr_at_far_ci95(self) -> tuple[float, float] | None:
        """95 % interval of `frr_at_far`; None without a bootstrap."""
        bounds = self.detection.intervals.get(f"tar_at_far_{self.at_far.far:g}")
        return None if bounds is None else (1.0 - bounds[1], 1.0 - bounds[0])

    def __str__(self):
        counts, far = self.detection.trials, 100 * self.at_far.far
        auc = self.detection.intervals.get("auc")
        bounds = "" if auc is None else f" [{auc[0]:.4f} to {auc[1]:.4f}]"
        frr = (
            f"FRR {100 * self.frr_at_far:.1f} %{in_percent(self.frr_at_far_ci95)} at FAR {far:g} %"
        )
        return (
            f"novelty AUROC {self.auroc:.4f}{bounds}, "
            f"{frr if self.at_far.measurable else self.at_far} "
            f"({counts.genuine:,} known, {counts.imposter:,} new examples)"
        )


def novelty(similarities: ArrayLike, kind: str = "max") -> np.ndarray:
    """Computes the novelty of examples from similarities to prototypes; higher is more novel.

    The novelty of Monteiro2020 (section 5) is not 1 - max softmax: a softmax does not change if a
    constant is added to all similarities of an example, and the pair term of Monteiro2020 (Eq. 3)
    trains exactly this constant.

    Args:
        similarities: S(x, C_j), shape `(examples, classes)`, as `PrototypicalClassifier.scores`.
        kind: `"max"`: the largest similarity, negated; `"energy"`: the logarithm of the sum of
            exponentials of the similarities, negated.

    Returns:
        Novelty, float64 of shape `(examples,)`.

    Raises:
        ValueError: If the shape is wrong, there is no class, a similarity is not finite, or `kind`
            is unknown.

    >>> novelty([[0.2, 0.7], [-3.0, -1.0]]).tolist()
    [-0.7, 1.0]
    """
    similarities = _checked("similarities", similarities)
    if kind not in KINDS:
        raise ValueError(f"`kind` must be one of {KINDS}. Received {kind!r}.")
    if kind == "max":
        return -similarities.max(axis=1)
    return -logsumexp(similarities, axis=1)


def novelty_by_one_class_svm(
    known: ArrayLike, similarities: ArrayLike, *, outliers: float = 0.1
) -> np.ndarray:
    """Computes novelty by a one-class SVM on vectors of similarities; higher is more novel.

    As in Monteiro2020 (section 5). The kernel is an RBF of these vectors, standardized by the mean
    and standard deviation of `known`. A learned similarity itself need not be positive definite, so
    it cannot be the kernel.

    Args:
        known: Similarities of examples of known classes, shape `(examples, classes)`. Use examples
            that neither trained the model nor are scored.
        similarities: Similarities of the examples to score, shape `(scored, classes)`.
        outliers: Upper bound of the fraction of `known` outside the border (nu), above 0 and below
            1.

    Returns:
        Novelty, float64 of shape `(scored,)`. The SVM classifies an example above 0 as new.

    Raises:
        ValueError: If shapes are wrong, a similarity is not finite, or `outliers` is out of range.
    """
    known_similarities = _checked("known", known)
    similarities = _checked("similarities", similarities)
    if known_similarities.shape[1] != similarities.shape[1]:
        raise ValueError(
            "`known` and `similarities` must be similarities to the same prototypes. Received "
            f"shapes {known_similarities.shape} and {similarities.shape}."
        )
    nu = positive("outliers", outliers)
    if nu >= 1:  # with all examples outside, the border is arbitrary
        raise ValueError(f"`outliers` must be above 0 and below 1. Received {outliers!r}.")
    machine = make_pipeline(StandardScaler(), OneClassSVM(kernel="rbf", nu=nu))
    machine.fit(known_similarities)
    return -machine.decision_function(similarities)


def novelty_detection(
    known: ArrayLike,
    new: ArrayLike,
    *,
    far: float = 0.05,
    people: tuple[ArrayLike, ArrayLike] | None = None,
    bootstrap: int = 0,
) -> NoveltyDetection:
    """Computes the AUROC, and the FRR at a FAR, of novelty scores from `novelty` or elsewhere.

    A new example classified as known is a false accept, and a known example classified as new is a
    false reject.

    Args:
        known: Novelty of examples of known classes, shape `(examples,)`; higher is more novel.
        new: Novelty of examples of new classes, shape `(new_examples,)`.
        far: Wanted fraction of new examples classified as known, above 0 and below 1.
        people: The pair `(people of known, people of new)`, names of shapes `(examples,)` and
            `(new_examples,)`. With `people` the bootstrap weights people. None: no two examples
            share a person.
        bootstrap: Number of replicates for the 95 % intervals, see `verification`. 0 computes no
            intervals, and 1000 is usual.

    Returns:
        `NoveltyDetection`; printing it shows the figures and their numbers of examples.

    Raises:
        TypeError: If `bootstrap` is not a whole number, or names are invalid.
        ValueError: If `known` or `new` is empty, a score is not finite, `people` does not name the
            person of each example, or `far` or `bootstrap` is out of range.

    >>> round(novelty_detection([-3.0, -2.0, 0.5], [0.0, 1.0]).auroc, 3)
    0.833
    """
    check_far(far)
    known_scores = real("`known`", known, np.float64).ravel()
    new_scores = real("`new`", new, np.float64).ravel()
    bootstrap = whole("bootstrap", bootstrap, minimum=0)
    names = None if people is None else _named(people, known_scores.size, new_scores.size)
    scores = np.concatenate([known_scores, new_scores])
    is_known = np.arange(scores.size) < known_scores.size
    detection = verification_figures(scores, is_known)
    if bootstrap:
        intervals = verification_intervals(
            detection.scores,
            is_known,
            people=None if names is None else probe_codes(names, is_known),
            draws=bootstrap,
            fars=(float(far),),
            seed=0,
        )
        detection = replace(detection, intervals=intervals)
    curve = detection.roc
    at_far = tar_at_far(curve.thresholds, curve.far, curve.tar, float(far), new_scores.size)
    return NoveltyDetection(detection, at_far)


def _named(people, known, new):
    """Returns the person of each example, known examples first."""
    if not hasattr(people, "__len__") or isinstance(people, str) or len(people) != 2:
        raise ValueError(
            f"`people` must be the pair (people of known, people of new). Received {people!r}."
        )
    sides = [ids("`people`", list(side)) for side in people]
    if (sides[0].shape, sides[1].shape) != ((known,), (new,)):
        raise ValueError(
            f"`people` must name the person of each example, {known:,} known and {new:,} new. "
            f"Received names of shapes {sides[0].shape} and {sides[1].shape}."
        )
    return ids("`people`", [name for side in sides for name in side.tolist()])


def _checked(name, similarities):
    similarities = real(f"`{name}`", similarities, np.float64)
    if similarities.ndim != 2 or similarities.size == 0:
        raise ValueError(
            f"`{name}` must have shape (examples, classes), at least one of each. Received shape "
            f"{similarities.shape}."
        )
    check_finite(name, similarities)
    return similarities
