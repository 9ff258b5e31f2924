"""Computes error rates, verification trials and error curves of a model on recordings of people."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml import evaluation, inference, reports
from keras_dml._files import staged
from keras_dml._typing import Recordings
from keras_dml.evaluation import protocol
from keras_dml.training import pooled, trials
from keras_dml.training.people import People
from keras_dml.training.runs import write_json

if TYPE_CHECKING:
    from keras_dml._backend import keras

FIGURES, TRIALS, CURVES = "figures.json", "trials.npz", "roc_det"
HEADLINE = "headline.json"
FOR_UNIT = 5  # number of recordings per person that determine the unit of distances
FRACTION_OF_CARDS = 1.0  # all test people are enrolled, because identifying few people is easier


@dataclasses.dataclass(frozen=True, eq=False)
class Measurement:
    """Verification trials of a model, and figures of the model by published protocols.

    Attributes:
        figures: Rows of a card's `figures`.
        trials: The `keras_dml.training.trials.Trials` of the card's `headline`.
    """

    figures: list[Any]
    trials: trials.Trials

    @functools.cached_property
    def headline(self) -> dict[str, Any]:
        """Returns the measured part of a card's `headline`."""
        return pooled.headline(self.trials)

    def baselines(self, methods: Mapping[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
        """Returns a card's `baselines`.

        Args:
            methods: Dict `{name: (what, kind, values)}`, see `keras_dml.training.pooled.baseline`.
        """
        return [pooled.baseline(self.trials, name, *method) for name, method in methods.items()]

    def save(self, folder: pathlib.Path, caption: str) -> None:
        """Writes the figures, the headline, the trials and the error curves (ROC and DET) to files.

        The files are `figures.json`, `headline.json`, `trials.npz`, `roc_det.png` and
        `roc_det.svg`.

        Args:
            folder: An existing folder.
            caption: People and protocol of the trials, printed below the curves.
        """
        write_json(folder / FIGURES, self.figures)
        write_json(folder / HEADLINE, self.headline)
        with staged(folder / TRIALS) as candidate:
            np.savez_compressed(candidate, **self.trials.arrays())
        result = evaluation.verification(self.trials.scores, self.trials.genuine)
        reports.save(reports.verification_curves(result, caption=caption), folder / CURVES)


def measure_people(distances: np.ndarray, people: People) -> Measurement:
    """Measures a model from the distances between all recordings of people.

    Args:
        distances: Distances, shape `(recordings, recordings)`.
        people: The recordings with their people and sessions.

    Returns:
        `Measurement` with the results of the functions `figures` and `latest_against_earlier`.
    """
    owners = people.subjects, people.sessions
    return Measurement(
        figures(distances, *owners), trials.latest_against_earlier(distances, *owners)
    )


def combine_folds(parts: Sequence[Measurement]) -> Measurement:
    """Combines the measurements of the folds of a cross-validation.

    Args:
        parts: Measurement of each fold. Each measurement must have figures of the same kinds.

    Returns:
        `Measurement` with the means of the figures over the folds, their standard errors, and the
        trials of all folds.
    """
    rows = []
    for row_of_folds in zip(*(part.figures for part in parts), strict=True):
        values = [row["value"] for row in row_of_folds]
        mean, error = protocol.mean_and_standard_error(values)
        count = sum(row["trials"] for row in row_of_folds)
        total = {"value": mean, "stderr": error, "trials": count}
        if "people" in row_of_folds[0]:
            total["people"] = sum(row["people"] for row in row_of_folds)
        rows.append({**row_of_folds[0], **total, "folds": values})
    return Measurement(rows, trials.concatenate([part.trials for part in parts]))


def pairwise_distances(model: keras.Model, recordings: Recordings) -> np.ndarray:
    """Computes the distances between all recordings.

    Args:
        model: A model for `keras_dml.embed`.
        recordings: List of arrays `(time_i, channels)`.

    Returns:
        Distances, computed by the distance of the model, shape `(recordings, recordings)`.
    """
    embeddings = inference.embed(model, recordings)
    return inference.distance(model, embeddings, embeddings)


def distance_unit(between: Callable[[list[Any]], np.ndarray], people: People) -> float:
    """Computes the median distance between recordings of different people.

    Args:
        between: Function that takes a list of recordings and returns the distances between all of
            them.
        people: `People` with the recordings on which the distance was trained.

    Raises:
        ValueError: If the median is not positive, as can happen with negative cosines.
    """
    subjects = np.array(people.subjects)
    rows = [np.flatnonzero(subjects == name)[:FOR_UNIT] for name in np.unique(subjects)]
    sample = people.take(np.concatenate(rows))
    owners = np.array(sample.subjects)
    median = np.median(between(sample.signals)[owners[:, None] != owners])
    if not median > 0:
        raise ValueError(
            f"The median distance between two people is {median:g}, but it must be above 0, "
            "because it is the unit of the distances. If distances can be negative, add a constant "
            "to all distances."
        )
    return median


def figures(
    distances: np.ndarray, subjects: Sequence[Any], sessions: Sequence[Any]
) -> list[dict[str, Any]]:
    """Computes figures by two protocols (`paper_protocol` and `session_protocol` in
    `keras_dml.evaluation.protocol`), for probes of 1 recording and for probes of 5 recordings.

    All test people are enrolled. In the session protocol, the figures for probes of 5 recordings
    leave out people with fewer than five recordings in their last session.

    Args:
        distances: Distances between all recordings, shape `(recordings, recordings)`.
        subjects: Person of each recording.
        sessions: Session of each recording, as a value that increases with time.

    Returns:
        Rows of a card's `figures`.
    """
    rows = protocol.paper_protocol(
        distances, subjects, n=(1, 5), fractions=(0.5, FRACTION_OF_CARDS)
    )
    for n in (1, 5):
        try:
            rows += protocol.session_protocol(
                distances,
                subjects,
                sessions,
                observed=n,
                n=(n,),
                fractions=(0.5, FRACTION_OF_CARDS),
            )
        except ValueError:  # skipped, because too few people have `n` recordings in a later session
            continue
    return rows


def proportion(
    protocol: str, metric: str, value: float, trials: int, **keys: Any
) -> dict[str, Any]:
    """Returns a row of a card's `figures` for a metric that is a fraction of trials.

    The row contains the binomial standard error of the fraction.

    Args:
        protocol: Name of the protocol, such as `"classification"`.
        metric: Name of the metric, such as `"accuracy"`.
        value: The fraction.
        trials: Number of trials.
        **keys: Further keys of the row.
    """
    return {
        "protocol": protocol,
        "n": 1,
        "metric": metric,
        "value": float(value),
        "stderr": float(np.sqrt(value * (1 - value) / trials)),
        "trials": int(trials),
        **keys,
    }


def summary(figures: list[dict[str, Any]]) -> str:
    """Formats figures as lines of text."""
    hidden = ("protocol", "n", "metric", "value", "stderr", "trials", "folds")
    return "\n".join(
        f"{row['protocol']:>24}  n={row['n']}  {row['metric']:<18} {row['value']:.4f} ± "
        f"{row['stderr']:.4f}  ({row['trials']:,} trials)"
        + "".join(f", {key} {value}" for key, value in row.items() if key not in hidden)
        for row in figures
    )


def headline_summary(headline: dict[str, Any]) -> str:
    """Formats a card's headline as lines of text."""
    counts = ", ".join(f"{value} {name}" for name, value in headline.items() if name != "rows")
    lines = [
        f"{row['metric']:>18} {row['value']:.4f} [{row['ci95'][0]:.4f} to {row['ci95'][1]:.4f}]"
        for row in headline["rows"]
    ]
    return "\n".join([f"pooled: {counts}", *lines])
