"""Computes metrics of closed-set and of open-set identification.

In closed-set identification, every probe belongs to an enrolled person. `identification` computes
the rank-1 accuracy, which is the first point of the CMC (cumulative match characteristic). In
open-set identification, some probes belong to people who are not enrolled. `imposters` computes the
metrics of open-set identification. The false accept rate in `Imposters.detection` is the FPIR
(false positive identification rate). The FNIR (false negative identification rate) counts false
rejects and misidentifications of enrolled people.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keras_dml._arrays import whole
from keras_dml._typing import ArrayLike
from keras_dml.evaluation._checks import check_distance_matrix
from keras_dml.evaluation._intervals import mean_interval, probe_codes
from keras_dml.evaluation._verification import Verification, verification_figures


@dataclass(frozen=True)
class Identification:
    """Rank-1 accuracy: the fraction of probes whose nearest enrolled person is the correct person.

    Attributes:
        accuracy: Fraction of the probes that are identified correctly.
        trials: Number of probes.
        people: Number of enrolled people.
        accuracy_ci95: 95 % confidence interval of `accuracy`. The bootstrap draws the people to
            whom the probes belong. None if no bootstrap was run.
    """

    accuracy: float
    trials: int
    people: int
    accuracy_ci95: tuple[float, float] | None = None

    def __str__(self) -> str:
        return (
            f"identification {100 * self.accuracy:.1f} %{in_percent(self.accuracy_ci95)} "
            f"({self.trials:,} probes, {self.people:,} people enrolled)"
        )


def identification(
    distances: ArrayLike, probe_ids: ArrayLike, gallery_ids: ArrayLike, *, bootstrap: int = 0
) -> Identification:
    """Computes the rank-1 accuracy of probes that are compared with a gallery (Abdelwahab2019,
    section 5.2).

    A gallery entry is an enrolled recording. The distance of a probe to a person is the distance to
    the nearest entry of that person. If c people have the smallest distance, and the correct person
    is among these c people, the probe adds 1 / c to the number of correct identifications. The
    order of the columns therefore has no effect.

    Args:
        distances: Distances of probes to gallery entries, shape `(probes, entries)`. Smaller is
            closer.
        probe_ids: Id of the person of each probe, shape `(probes,)`. Each person must be enrolled.
        gallery_ids: Id of the person of each gallery entry, shape `(entries,)`.
        bootstrap: Number of bootstrap replicates for the 95 % confidence interval (see
            `verification`). The bootstrap draws the people to whom the probes belong. If
            `bootstrap` is 0, no interval is computed. A usual value is 1000. The interval is valid
            only for galleries with the same number of people as in `gallery_ids`. All replicates
            use the same enrolled people.

    Returns:
        `Identification`.

    Raises:
        TypeError: If `bootstrap` is not a whole number.
        ValueError: If the number of probe ids or of gallery ids does not match the shape of
            `distances`, if a distance is not finite, if a probe's person is not enrolled, or if
            `bootstrap` is negative.

    >>> import numpy as np
    >>> identification(np.array([[0.1, 0.4], [0.3, 0.3]]), ["ann", "bob"], ["ann", "bob"]).accuracy
    0.75
    """
    bootstrap = whole("bootstrap", bootstrap, minimum=0)
    distances, probe_ids, gallery_ids = check_distance_matrix(distances, probe_ids, gallery_ids)
    strangers = np.setdiff1d(probe_ids, gallery_ids)
    if strangers.size:
        raise ValueError(
            f"{strangers.size} of {np.unique(probe_ids).size} people in `probe_ids` are not in "
            "`gallery_ids`. Each probe's person must be enrolled. If some probes belong to people "
            "who are not enrolled, use `evaluation.imposters`."
        )
    people, nearest = _nearest_by_person(distances, gallery_ids)
    credits = _credit(nearest, np.searchsorted(people, probe_ids))
    return Identification(
        accuracy=float(credits.mean()),
        trials=probe_ids.size,
        people=people.size,
        accuracy_ci95=mean_interval(credits, probe_ids, draws=bootstrap) if bootstrap else None,
    )


@dataclass(frozen=True, eq=False)
class Imposters:
    """Metrics of open-set identification.

    Attributes:
        detection: `Verification` of the distances of probes to the nearest enrolled person. Probes
            of enrolled people are the genuine trials. Probes of people who are not enrolled are the
            imposter trials. The bootstrap for the confidence intervals draws all people who have
            probes.
        misidentification: Fraction of the probes of enrolled people whose nearest person is
            somebody else. The AUC does not count misidentification as an error, so report
            `misidentification` together with the AUC.
        people: Number of enrolled people.
        misidentification_ci95: 95 % confidence interval of `misidentification`. The bootstrap draws
            enrolled people. None if no bootstrap was run.
    """

    detection: Verification
    misidentification: float
    people: int
    misidentification_ci95: tuple[float, float] | None = None

    @property
    def auc(self) -> float:
        """AUC of the verification trials in `detection`: probes of enrolled people are genuine, and
        probes of other people are imposters."""
        return self.detection.auc

    def __str__(self) -> str:
        counts, auc = self.detection.trials, self.detection.intervals.get("auc")
        bounds = "" if auc is None else f" [{auc[0]:.4f} to {auc[1]:.4f}]"
        return (
            f"imposter AUC {self.auc:.4f}{bounds}, misidentified "
            f"{100 * self.misidentification:.1f} %{in_percent(self.misidentification_ci95)} "
            f"({counts.genuine:,} probes of {self.people:,} people enrolled, {counts.imposter:,} "
            "probes of imposters)"
        )


def imposters(
    distances: ArrayLike, probe_ids: ArrayLike, gallery_ids: ArrayLike, *, bootstrap: int = 0
) -> Imposters:
    """Computes metrics of open-set identification, in which some probes belong to imposters.

    The score of a probe is the distance to the nearest enrolled person. If the score is at most the
    threshold, the probe is accepted as this nearest person (Abdelwahab2019, section 5.2, multiclass
    imposters). As in the paper, the probe of an enrolled person counts as accepted even if it is
    accepted as another enrolled person. A probe of an enrolled person is misidentified if the
    nearest person is somebody else. `Imposters.misidentification` is the fraction of misidentified
    probes among the probes of enrolled people.

    Args:
        distances: Distances of probes to gallery entries, shape `(probes, entries)`. Smaller is
            closer.
        probe_ids: Id of the person of each probe, shape `(probes,)`. People who are not in
            `gallery_ids` are the imposters.
        gallery_ids: Id of the person of each gallery entry, shape `(entries,)`.
        bootstrap: Number of bootstrap replicates for the 95 % confidence intervals (see
            `verification`). The bootstrap draws the people to whom the probes belong. If
            `bootstrap` is 0, no intervals are computed. A usual value is 1000. All replicates use
            the same enrolled people.

    Returns:
        `Imposters`.

    Raises:
        TypeError: If `bootstrap` is not a whole number.
        ValueError: If the number of probe ids or of gallery ids does not match the shape of
            `distances`, if a distance is not finite, if `bootstrap` is negative, or if probes of
            enrolled people or probes of imposters are missing.

    >>> import numpy as np
    >>> distances = np.array([[0.1, 0.8], [0.9, 0.3], [0.7, 0.6]])
    >>> result = imposters(distances, ["ann", "bob", "eve"], ["ann", "bob"])
    >>> result.auc, result.misidentification
    (1.0, 0.0)
    """
    bootstrap = whole("bootstrap", bootstrap, minimum=0)
    distances, probe_ids, gallery_ids = check_distance_matrix(distances, probe_ids, gallery_ids)
    enrolled = np.isin(probe_ids, gallery_ids)
    if enrolled.all() or not enrolled.any():
        raise ValueError(
            f"Received {int(enrolled.sum())} probes of enrolled people and "
            f"{int((~enrolled).sum())} probes of imposters. Expected at least one probe of each "
            "kind. Imposters are people who are not in `gallery_ids`."
        )
    people, nearest = _nearest_by_person(distances, gallery_ids)
    right = np.searchsorted(people, probe_ids[enrolled])
    wrong = 1.0 - _credit(nearest[enrolled], right)
    return Imposters(
        detection=verification_figures(
            nearest.min(axis=1),
            enrolled,
            people=probe_codes(probe_ids, enrolled) if bootstrap else None,
            bootstrap=bootstrap,
        ),
        misidentification=float(wrong.mean()),
        people=people.size,
        misidentification_ci95=(
            mean_interval(wrong, probe_ids[enrolled], draws=bootstrap) if bootstrap else None
        ),
    )


def in_percent(bounds):
    """Formats an interval in percent, such as ` [1.0 to 2.0 %]`. Returns an empty string for
    None."""
    return "" if bounds is None else f" [{100 * bounds[0]:.1f} to {100 * bounds[1]:.1f} %]"


def _nearest_by_person(distances, gallery_ids):
    """Computes the distance of each probe to the nearest entry of each person.

    Args:
        distances: Distances of probes to gallery entries, shape `(probes, entries)`.
        gallery_ids: Id of the person of each entry, shape `(entries,)`, in any order.

    Returns:
        Tuple `(people, nearest)` of the sorted ids, shape `(people,)`, and the distances, shape
        `(probes, people)`.
    """
    order = np.argsort(gallery_ids, kind="stable")
    people, starts = np.unique(gallery_ids[order], return_index=True)
    return people, np.minimum.reduceat(distances[:, order], starts, axis=1)


def _credit(nearest, right):
    """Returns the contribution of each probe to the number of correct identifications.

    If c people have the smallest distance and the person of the probe is among these c people, the
    contribution is 1 / c. For any other probe, the contribution is 0.

    Args:
        nearest: Distances to people, shape `(probes, people)`.
        right: Column index of the person of each probe, shape `(probes,)`.

    Returns:
        Contributions from 0 to 1, shape `(probes,)`.
    """
    tied = nearest == nearest.min(axis=1, keepdims=True)  # (probes, people)
    return tied[np.arange(len(right)), right] / tied.sum(axis=1)
