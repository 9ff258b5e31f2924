"""Figures of open-set identification, with people who were never enrolled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keras_dml._arrays import whole
from keras_dml.evaluation._checks import check_distance_matrix
from keras_dml.evaluation._identification import credit, in_percent, nearest_by_person
from keras_dml.evaluation._people_weights import mean_interval, of_probes
from keras_dml.evaluation._verification import Verification, verification


@dataclass(frozen=True, eq=False)
class Imposters:
    """Figures of open-set identification: enrolled people against strangers.

    Attributes:
        detection: `Verification` of the distances to the nearest enrolled person: enrolled probes
            are its genuine trials, probes of strangers its imposter trials.
        misidentification: Fraction of enrolled probes whose nearest person is somebody else. The
            AUC counts such a probe as rightly accepted, so read the two together.
        people: Number of people enrolled.
        misidentification_ci95: 95 % interval over the enrolled people; None if no bootstrap was
            asked for. The intervals of `detection` are over enrolled people and strangers.
    """

    detection: Verification
    misidentification: float
    people: int
    misidentification_ci95: tuple[float, float] | None = None

    @property
    def auc(self):
        """AUC of enrolled probes against imposters' probes."""
        return self.detection.auc

    def __str__(self):
        counts, auc = self.detection.trials, self.detection.intervals.get("auc")
        bounds = "" if auc is None else f" [{auc[0]:.4f} to {auc[1]:.4f}]"
        return (
            f"imposter AUC {self.auc:.4f}{bounds}, misidentified "
            f"{100 * self.misidentification:.1f} %{in_percent(self.misidentification_ci95)} "
            f"({counts.genuine:,} probes of {self.people:,} people enrolled, {counts.imposter:,} "
            "probes of imposters)"
        )


def imposters(distances, probe_ids, gallery_ids, *, bootstrap=0):
    """Rejecting strangers while identifying the enrolled (Abdelwahab2019, section 5.2, multiclass
    imposters).

    The score of a probe is its distance to the nearest enrolled person; it is accepted as that
    person where the score is at most a threshold. An enrolled person accepted as somebody else
    counts as accepted, as in the paper; `misidentification` is the fraction of those.

    Args:
        distances: Distances of probes to gallery entries, shape `(probes, entries)`; smaller is
            closer.
        probe_ids: Person of each probe, shape `(probes,)`; people not in `gallery_ids` are the
            imposters.
        gallery_ids: Person of each gallery entry, shape `(entries,)`.
        bootstrap: Number of replicates for 95 % intervals over the people of the probes, see
            `verification`; 0 for none, 1000 is usual. Who is enrolled is taken as given.

    Returns:
        `Imposters` with `auc`, `misidentification`, `detection` (all verification figures) and
        `people`.

    Raises:
        TypeError: `bootstrap` is not a whole number.
        ValueError: Shapes do not fit, a distance is not finite, `bootstrap` is negative, or there
            are no probes of enrolled people or none of imposters.

    >>> import numpy as np
    >>> distances = np.array([[0.1, 0.8], [0.9, 0.3], [0.7, 0.6]])
    >>> found = imposters(distances, ["ann", "bob", "eve"], ["ann", "bob"])
    >>> found.auc, found.misidentification
    (1.0, 0.0)
    """
    bootstrap = whole("bootstrap", bootstrap, minimum=0)
    distances, probe_ids, gallery_ids = check_distance_matrix(distances, probe_ids, gallery_ids)
    enrolled = np.isin(probe_ids, gallery_ids)
    if enrolled.all() or not enrolled.any():
        raise ValueError(
            "Probes of enrolled people and of imposters, who are not in `gallery_ids`, are "
            f"needed. Received {int(enrolled.sum())} and {int((~enrolled).sum())}."
        )
    people, nearest = nearest_by_person(distances, gallery_ids)
    right = np.searchsorted(people, probe_ids[enrolled])
    wrong = 1.0 - credit(nearest[enrolled], right)
    return Imposters(
        detection=verification(
            nearest.min(axis=1),
            enrolled,
            people=of_probes(probe_ids, enrolled) if bootstrap else None,
            bootstrap=bootstrap,
        ),
        misidentification=float(wrong.mean()),
        people=people.size,
        misidentification_ci95=(
            mean_interval(wrong, probe_ids[enrolled], draws=bootstrap) if bootstrap else None
        ),
    )
