"""Novelty detection: is an example of a class that was never seen?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from keras_dml._arrays import positive, real, whole
from keras_dml.evaluation._checks import check_finite, ids
from keras_dml.evaluation._identification import in_percent
from keras_dml.evaluation._people_weights import of_probes, verification_intervals
from keras_dml.evaluation._thresholds import TarAtFar, check_far, tar_at_far
from keras_dml.evaluation._verification import Verification, verification

KINDS = ("max", "energy")


@dataclass(frozen=True, eq=False)
class NoveltyDetection:
    """Figures of how well examples of new classes are separated from those of known ones.

    Attributes:
        detection: `Verification` of the novelty scores: examples of known classes are its genuine
            trials, those of new classes its imposter trials. Its intervals, if a bootstrap was
            asked for, are of the AUC, the EER and the TAR at the wanted rate.
        at_far: `TarAtFar`: fraction of known examples taken as known where at most the wanted
            fraction of new ones is.
    """

    detection: Verification
    at_far: TarAtFar

    @property
    def auroc(self):
        """Probability that a new example has a larger novelty than a known one."""
        return self.detection.auc

    @property
    def frr_at_far(self):
        """Fraction of known examples taken as new; NaN where the new ones are too few."""
        return 1.0 - self.at_far.tar

    @property
    def frr_at_far_ci95(self):
        """95 % interval of that fraction; None if no bootstrap was asked for."""
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


def novelty(similarities, kind="max"):
    """Novelty of examples from their similarities to the prototypes (Monteiro2020, section 5);
    higher is more novel.

    Not 1 - max softmax: a softmax does not see a constant added to all similarities of an example,
    and that constant is what the pair term of Monteiro2020 (Eq. 3) calibrates.

    Args:
        similarities: S(x, C_j), shape `(examples, classes)`, as `PrototypicalClassifier.scores`.
        kind: `"max"`: minus the largest similarity; `"energy"`: minus log sum exp of them.

    Returns:
        Novelty, float64 of shape `(examples,)`.

    Raises:
        ValueError: Wrong shape, no class, a similarity is not finite, or `kind` is unknown.

    >>> novelty([[0.2, 0.7], [-3.0, -1.0]]).tolist()
    [-0.7, 1.0]
    """
    similarities = _checked("similarities", similarities)
    if kind not in KINDS:
        raise ValueError(f"`kind` must be one of {KINDS}. Received {kind!r}.")
    if kind == "max":
        return -similarities.max(axis=1)
    return -logsumexp(similarities, axis=1)


def novelty_by_one_class_svm(known, similarities, *, outliers=0.1):
    """Novelty by a one-class SVM on the vector of similarities (Monteiro2020, section 5); large is
    new.

    The kernel is an RBF of these vectors, standardized by `known`: a learned similarity itself need
    not be positive definite, so it is not a kernel.

    Args:
        known: Similarities of examples of known classes, shape `(examples, classes)`: examples
            that neither trained the model nor enter the figure.
        similarities: Similarities of the examples to score, shape `(others, classes)`.
        outliers: Upper bound of the fraction of `known` left outside, above 0 and below 1 (nu).

    Returns:
        Novelty, float64 of shape `(others,)`; above 0 the SVM calls it new.

    Raises:
        ValueError: Wrong shapes, a similarity is not finite, or `outliers` is out of range.
    """
    known, similarities = _checked("known", known), _checked("similarities", similarities)
    if known.shape[1] != similarities.shape[1]:
        raise ValueError(
            "`known` and `similarities` must be to the same prototypes. Received shapes "
            f"{known.shape} and {similarities.shape}."
        )
    nu = positive("outliers", outliers)
    if nu >= 1:  # with all of them outside nothing says where the border is
        raise ValueError(f"`outliers` must be above 0 and below 1. Received {outliers!r}.")
    machine = make_pipeline(StandardScaler(), OneClassSVM(kernel="rbf", nu=nu)).fit(known)
    return -machine.decision_function(similarities)


def novelty_detection(known, new, *, far=0.05, people=None, bootstrap=0):
    """AUROC and FRR at a FAR of novelty scores, from `novelty` or any other source.

    A new example taken as known is a false accept, a known one taken as new a false reject.

    Args:
        known: Novelty of examples of known classes, shape `(examples,)`; higher is more novel.
        new: Novelty of examples of other classes, shape `(others,)`.
        far: Wanted fraction of new examples taken as known, above 0 and below 1.
        people: The pair `(people of known, people of new)`, names of shapes `(examples,)` and
            `(others,)`: with them the bootstrap weights people. None: each example is of another
            person.
        bootstrap: Number of replicates for the 95 % intervals, see `verification`; 0 for none, 1000
            is usual.

    Returns:
        `NoveltyDetection`; printing it shows the figures and their counts.

    Raises:
        TypeError: `bootstrap` is not a whole number, or names are invalid.
        ValueError: One of the kinds is missing, a score is not finite, `people` does not name the
            person of each example, or `far` or `bootstrap` is out of range.

    >>> round(novelty_detection([-3.0, -2.0, 0.5], [0.0, 1.0]).auroc, 3)
    0.833
    """
    check_far(far)
    known = real("`known`", known, np.float64).ravel()
    new = real("`new`", new, np.float64).ravel()
    bootstrap = whole("bootstrap", bootstrap, minimum=0)
    names = None if people is None else _named(people, known.size, new.size)
    is_known = np.arange(known.size + new.size) < known.size
    detection = verification(np.concatenate([known, new]), is_known)
    if bootstrap:
        intervals = verification_intervals(
            detection.scores,
            is_known,
            people=None if names is None else of_probes(names, is_known),
            draws=bootstrap,
            fars=(float(far),),
            seed=0,
        )
        detection = replace(detection, intervals=intervals)
    curve = detection.roc
    return NoveltyDetection(
        detection=detection,
        at_far=tar_at_far(curve.thresholds, curve.far, curve.tar, float(far), new.size),
    )


def _named(people, known, new):
    """Person of each example, known ones first."""
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
