"""Figures of identification: which of the enrolled people is this?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keras_dml._arrays import whole
from keras_dml.evaluation._checks import check_distance_matrix
from keras_dml.evaluation._people_weights import mean_interval


@dataclass(frozen=True)
class Identification:
    """Rate at which the nearest enrolled person is the right one.

    Attributes:
        accuracy: Fraction of probes.
        trials: Number of probes.
        people: Number of people enrolled.
        accuracy_ci95: 95 % interval over the people of the probes; None if no bootstrap was asked
            for.
    """

    accuracy: float
    trials: int
    people: int
    accuracy_ci95: tuple[float, float] | None = None

    def __str__(self):
        return (
            f"identification {100 * self.accuracy:.1f} %{in_percent(self.accuracy_ci95)} "
            f"({self.trials:,} probes, {self.people:,} people enrolled)"
        )


def identification(distances, probe_ids, gallery_ids, *, bootstrap=0):
    """Rank-1 accuracy against a gallery (Abdelwahab2019, section 5.2, multiclass identification).

    A person enrolled with several recordings counts by the nearest. A minimum tied between c people
    counts 1/c if the right one is among them, so that no order of the columns is an advantage.

    Args:
        distances: Distances of probes to gallery entries, shape `(probes, entries)`; smaller is
            closer.
        probe_ids: Person of each probe, shape `(probes,)`; each must be enrolled.
        gallery_ids: Person of each gallery entry, shape `(entries,)`.
        bootstrap: Number of replicates for the 95 % interval over the people of the probes, see
            `verification`; 0 for none, 1000 is usual. It holds for a gallery of as many people:
            who else is enrolled is taken as given.

    Returns:
        `Identification`; printing it shows the accuracy and its counts.

    Raises:
        TypeError: `bootstrap` is not a whole number.
        ValueError: Shapes do not fit, a distance is not finite, a probe's person is not enrolled,
            or `bootstrap` is negative.

    >>> import numpy as np
    >>> identification(np.array([[0.1, 0.4], [0.3, 0.3]]), ["ann", "bob"], ["ann", "bob"]).accuracy
    0.75
    """
    bootstrap = whole("bootstrap", bootstrap, minimum=0)
    distances, probe_ids, gallery_ids = check_distance_matrix(distances, probe_ids, gallery_ids)
    strangers = np.setdiff1d(probe_ids, gallery_ids)
    if strangers.size:
        raise ValueError(
            f"Each probe's person must be enrolled. {strangers.size} of "
            f"{np.unique(probe_ids).size} people in `probe_ids` are not in `gallery_ids`. For "
            "people who were never enrolled use `evaluation.imposters`."
        )
    people, nearest = nearest_by_person(distances, gallery_ids)
    credits = credit(nearest, np.searchsorted(people, probe_ids))
    return Identification(
        accuracy=float(credits.mean()),
        trials=probe_ids.size,
        people=people.size,
        accuracy_ci95=mean_interval(credits, probe_ids, draws=bootstrap) if bootstrap else None,
    )


def in_percent(bounds):
    """An interval in brackets after a space; empty for None."""
    return "" if bounds is None else f" [{100 * bounds[0]:.1f} to {100 * bounds[1]:.1f} %]"


def nearest_by_person(distances, gallery_ids):
    """Distance of each probe to the nearest entry of each person.

    Args:
        distances: Shape `(..., probes, entries)`.
        gallery_ids: Person of each entry, shape `(entries,)`, in any order.

    Returns:
        `(people, nearest)`: the sorted ids `(people,)` and the minima `(probes, people)`.
    """
    order = np.argsort(gallery_ids, kind="stable")
    people, starts = np.unique(gallery_ids[order], return_index=True)
    return people, np.minimum.reduceat(distances[:, order], starts, axis=1)


def credit(nearest, right):
    """Credit of each probe: 1/c where the right person is among c people at the minimum, else 0.

    Args:
        nearest: Distances to people, shape `(probes, people)`.
        right: Index of the right person, shape `(probes,)`.

    Returns:
        Credits in [0, 1], shape `(probes,)`.
    """
    tied = nearest == nearest.min(axis=1, keepdims=True)  # (probes, people)
    return tied[np.arange(len(right)), right] / tied.sum(axis=1)
