"""Computes novelty scores, which show whether an example belongs to a class that the model does not
know."""

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
    """Metrics that measure how well novelty scores separate new classes from known classes.

    An example of a known class is called a known example, and an example of a new class is called a
    new example.

    Attributes:
        detection: `Verification` of the novelty scores, with known examples as genuine trials and
            new examples as imposter trials. If a bootstrap was run, `detection` includes 95 %
            confidence intervals of the AUC, the EER, and the TAR at the wanted false accept rate.
        at_far: `TarAtFar` with the fraction of known examples that are classified as known. At the
            threshold `at_far.threshold`, at most the wanted fraction of new examples are classified
            as known.
    """

    detection: Verification
    at_far: TarAtFar

    @property
    def auroc(self) -> float:
        """AUROC: probability that a new example has a larger novelty than a known example."""
        return self.detection.auc

    @property
    def frr_at_far(self) -> float:
        """Fraction of known examples that are classified as new. NaN if there are too few new
        examples."""
        return 1.0 - self.at_far.tar

    @property
    def frr_at_far_ci95(self) -> tuple[float, float] | None:
        """95 % confidence interval of `frr_at_far`. None if no bootstrap was run."""
        bounds = self.detection.intervals.get(f"tar_at_far_{self.at_far.far:g}")
        return None if bounds is None else (1.0 - bounds[1], 1.0 - bounds[0])

    def __str__(self) -> str:
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
    """Computes the novelty of examples from their similarities to prototypes. Higher is more novel.

    As in Monteiro2020 (section 5), the novelty is not computed from softmax probabilities. A
    softmax ignores the level of the similarities: if a constant is added to all similarities of an
    example, the probabilities do not change. The pair term of Monteiro2020 (Eq. 3), however, trains
    the level of the similarities.

    Args:
        similarities: Similarities S(x, C_j) of examples to the prototypes of classes, shape
            `(examples, classes)`, such as the output of `PrototypicalClassifier.scores`.
        kind: Measure of novelty. `"max"` is the negated largest similarity. `"energy"` is
            `-log(sum(exp(similarities)))`.

    Returns:
        Novelty, float64 of shape `(examples,)`.

    Raises:
        ValueError: If `similarities` is not a matrix with at least one class, if a similarity is
            not finite, or if `kind` is unknown.

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
    """Computes novelty by a one-class SVM on vectors of similarities. Higher is more novel.

    The method is described in Monteiro2020 (section 5). For each example, the vector holds the
    similarities to all prototypes. The similarities are standardized by the mean and standard
    deviation of `known`. The SVM has an RBF kernel on the vectors of similarities. A learned
    similarity cannot be used as the kernel, because it may not be positive definite.

    Args:
        known: Similarities of examples of known classes, shape `(examples, classes)`. Use examples
            that were not used in training and are not in `similarities`.
        similarities: Similarities of the examples to score, shape `(scored, classes)`.
        outliers: Parameter nu of the SVM, above 0 and below 1. The SVM classifies at most the
            fraction nu of the examples in `known` as new.

    Returns:
        Novelty, float64 of shape `(scored,)`. The SVM classifies examples with a novelty above 0 as
        new.

    Raises:
        ValueError: If `known` and `similarities` do not have the same number of classes, if a
            similarity is not finite, or if `outliers` is out of range.
    """
    known_similarities = _checked("known", known)
    similarities = _checked("similarities", similarities)
    if known_similarities.shape[1] != similarities.shape[1]:
        raise ValueError(
            f"Received `known` of shape {known_similarities.shape} and `similarities` of shape "
            f"{similarities.shape}. Expected one column for each prototype in each matrix, and the "
            "same prototypes in both."
        )
    nu = positive("outliers", outliers)
    if nu >= 1:  # if all known examples may be outliers, the SVM's decision border is arbitrary
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
    """Computes the AUROC of novelty scores, and the false reject rate at a given false accept rate.

    A new example that is classified as known is a false accept. A known example that is classified
    as new is a false reject.

    Args:
        known: Novelty of examples of known classes, shape `(examples,)`. Higher is more novel.
        new: Novelty of examples of new classes, shape `(new_examples,)`.
        far: Wanted fraction of new examples that are classified as known (false accept rate), above
            0 and below 1.
        people: Pair `(people of known, people of new)` of person ids, with shapes `(examples,)` and
            `(new_examples,)`. If `people` is given, the bootstrap draws a random weight for each
            person. None if all examples are of different people.
        bootstrap: Number of replicates for the 95 % confidence intervals (see `verification`). If
            `bootstrap` is 0, no intervals are computed. A usual value is 1000.

    Returns:
        `NoveltyDetection`. Printing the result shows the metrics and the numbers of examples.

    Raises:
        TypeError: If `bootstrap` is not a whole number, or if ids are invalid.
        ValueError: If `known` or `new` is empty, if a score is not finite, if `people` does not
            contain one id for each example, or if `far` or `bootstrap` is out of range.

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
    """Returns the person id of each known example, followed by the person id of each new
    example."""
    if not hasattr(people, "__len__") or isinstance(people, str) or len(people) != 2:
        raise ValueError(
            f"`people` must be the pair (people of known, people of new). Received {people!r}."
        )
    sides = [ids("`people`", list(side)) for side in people]
    if (sides[0].shape, sides[1].shape) != ((known,), (new,)):
        raise ValueError(
            f"Received `people` of shapes {sides[0].shape} and {sides[1].shape}. Expected one id "
            f"for each of {known:,} known examples and {new:,} new examples."
        )
    return ids("`people`", [name for side in sides for name in side.tolist()])


def _checked(name, similarities):
    similarities = real(f"`{name}`", similarities, np.float64)
    if similarities.ndim != 2 or similarities.size == 0:
        raise ValueError(
            f"`{name}` must have shape (examples, classes), with at least one example and one "
            f"class. Received shape {similarities.shape}."
        )
    check_finite(name, similarities)
    return similarities
