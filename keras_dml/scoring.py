"""Scorings: rules that combine several enrolled and several observed recordings into one score.

- `nearest`: distance to the nearest enrolled recording, averaged over the observed recordings
  (Abdelwahab2019, section 6)
- `mean`: distance between the mean of the observed recordings and the mean of the enrolled
  recordings
- `two_covariance`: negative log likelihood ratio of the two-covariance model (PLDA), which knows
  how many recordings were enrolled and observed (Prince2007; Bruemmer2010)

Galleries, devices and training compare people by these classes only. The module does not import
Keras. A threshold is valid only for the scoring with which it was calibrated. To choose a scoring,
compare all scorings on people who are not in the test.
"""

from __future__ import annotations

import abc
import dataclasses
import difflib
from typing import Any, Protocol

import numpy as np

from keras_dml.geometry import two_covariance

DEFAULT = "nearest"


class Comparison(Protocol):
    """Distances and means of embeddings, which a scoring needs from a model.

    Attributes:
        distance_name: Name of the distance between embeddings, or None if it has no name.
        has_mean: Whether embeddings have a mean, see `keras_dml.distances.Distance`.
    """

    @property
    def distance_name(self) -> str | None: ...
    @property
    def has_mean(self) -> bool: ...

    def distances(self, probes: np.ndarray, stored: np.ndarray) -> np.ndarray:
        """Computes the distances of all pairs, shape `(probes, stored)`."""
        ...

    def mean_points(self, embeddings: np.ndarray) -> np.ndarray:
        """Maps embeddings to points whose average is the mean, see `Distance.mean_points`."""
        ...

    def from_mean_point(self, point: np.ndarray) -> np.ndarray:
        """Maps an average of points to an embedding, see `Distance.from_mean_point`."""
        ...


@dataclasses.dataclass(frozen=True, eq=False)
class Summary:
    """Embeddings of several sets of recordings, in the form in which a scoring compares them.

    Attributes:
        embeddings: Embeddings of all sets, one set after the other, or one mean per set.
        counts: Number of recordings in each set, shape `(sets,)`.
    """

    embeddings: np.ndarray
    counts: np.ndarray


class Scoring(abc.ABC):
    """Rule that gives one score for a set of observed recordings and a set of enrolled recordings.

    A smaller score means a better match. Scorings have no state.

    Attributes:
        name: Name of the scoring in `get`, cards, galleries and commands.
        text: Description of the score in cards, pages and reports.
        has_means: Whether a summary contains one mean embedding per set, and not all embeddings.
    """

    name: str
    text: str
    has_means: bool = False

    @abc.abstractmethod
    def check(self, model: Comparison) -> None:
        """Raises `ValueError` if embeddings of a model cannot be scored by this rule."""

    @abc.abstractmethod
    def summary(
        self, model: Comparison, embeddings: np.ndarray, counts: np.ndarray | list[int]
    ) -> Summary:
        """Prepares sets of recordings for `compare`.

        Args:
            model: Model that computed the embeddings.
            embeddings: Embeddings of all sets, one set after the other, shape `(recordings, ...)`.
            counts: Number of recordings in each set, each at least 1. The sum is `recordings`.
        """

    @abc.abstractmethod
    def compare(self, model: Comparison, probes: Summary, enrolled: Summary) -> np.ndarray:
        """Computes the score of each set of observed recordings against each person.

        Args:
            model: Model that computed the embeddings.
            probes: Summary of the sets of observed recordings. Each set is one claim.
            enrolled: Summary of the enrolled recordings, one set per person.

        Returns:
            Scores, float64, shape `(sets of observed recordings, people)`.
        """

    def scores(
        self, model: Comparison, probes: np.ndarray, enrolled: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """Computes the score of one set of observed recordings against each person.

        Args:
            model: Model that computed the embeddings.
            probes: Embeddings of the observed recordings, shape `(probes, ...)`.
            enrolled: Enrolled embeddings, one person after the other, shape `(enrolled, ...)`.
            counts: Number of enrolled recordings of each person, shape `(people,)`.

        Returns:
            Scores, float64, shape `(people,)`.
        """
        observed = self.summary(model, probes, [len(probes)])
        return self.compare(model, observed, self.summary(model, enrolled, counts))[0]


class Nearest(Scoring):
    """Distance from an observed recording to the nearest enrolled recording of a person, averaged
    over the observed recordings (Abdelwahab2019, section 6)."""

    name = "nearest"
    text = "mean distance to the nearest enrolled recording"

    def check(self, model: Comparison) -> None:
        """Accepts every model."""

    def summary(
        self, model: Comparison, embeddings: np.ndarray, counts: np.ndarray | list[int]
    ) -> Summary:
        return Summary(embeddings, np.asarray(counts))

    def compare(self, model: Comparison, probes: Summary, enrolled: Summary) -> np.ndarray:
        distances = model.distances(probes.embeddings, enrolled.embeddings)
        nearest = np.minimum.reduceat(distances, _starts(enrolled.counts), axis=1)
        totals = np.add.reduceat(nearest, _starts(probes.counts), axis=0, dtype=np.float64)
        return totals / probes.counts[:, None]


class Mean(Scoring):
    """Distance between the mean of the observed recordings and the mean of a person's enrolled
    recordings. For the cosine distance, this is the cosine scoring of mean speaker embeddings."""

    name = "mean"
    text = "distance between the mean of the recordings and the mean of the enrolled recordings"
    has_means = True

    def check(self, model: Comparison) -> None:
        if not model.has_mean:
            raise ValueError(
                f"The scoring {self.name!r} needs a distance that has a mean, but the distance of "
                f"the model is {model.distance_name!r}. Choose the scoring 'nearest', or a model "
                "with the distance cosine, euclidean, log_euclidean, two_covariance, or "
                "wasserstein of order 2."
            )

    def summary(
        self, model: Comparison, embeddings: np.ndarray, counts: np.ndarray | list[int]
    ) -> Summary:
        counts = np.asarray(counts)
        points = model.mean_points(embeddings)
        totals = np.add.reduceat(points, _starts(counts), axis=0)
        means = totals / counts.reshape(-1, *[1] * (totals.ndim - 1))
        return Summary(model.from_mean_point(means).astype(np.float32), counts)

    def compare(self, model: Comparison, probes: Summary, enrolled: Summary) -> np.ndarray:
        return np.asarray(model.distances(probes.embeddings, enrolled.embeddings), np.float64)


class TwoCovariance(Mean):
    """Negative log likelihood ratio of the two-covariance model (PLDA): the evidence, in nats, that
    the observed and the enrolled recordings come from two people and not from one person
    (Prince2007; Bruemmer2010)."""

    name = "two_covariance"
    text = "negative log likelihood ratio of the two-covariance model (PLDA)"

    def check(self, model: Comparison) -> None:
        if model.distance_name != self.name:
            raise ValueError(
                f"The scoring {self.name!r} needs a model whose distance is {self.name!r}, but the "
                f"distance of the model is {model.distance_name!r}. Choose another scoring, or "
                "append the layer TwoCovariance to the model by "
                "`keras_dml.training.two_covariance.two_covariance_model`."
            )

    def compare(self, model: Comparison, probes: Summary, enrolled: Summary) -> np.ndarray:
        vectors, variances = _parts(enrolled)
        counts = enrolled.counts[:, None]
        sets = zip(_parts(probes)[0], probes.counts, strict=True)
        ratios = [
            two_covariance.log_likelihood_ratio(probe, vectors, variances, float(count), counts)
            for probe, count in sets
        ]
        return -np.stack(ratios)


SCORINGS: dict[str, Scoring] = {kind.name: kind() for kind in (Nearest, Mean, TwoCovariance)}


def get(name: str) -> Scoring:
    """Returns the scoring with a name.

    Args:
        name: `"nearest"`, `"mean"` or `"two_covariance"`.

    Raises:
        ValueError: If no scoring has this name.
    """
    if isinstance(name, str) and name in SCORINGS:
        return SCORINGS[name]
    near = difflib.get_close_matches(str(name), SCORINGS, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"Unknown scoring {name!r}. Choose one of {', '.join(SCORINGS)}.{hint}")


def card_scoring(card: dict[str, Any] | None) -> str:
    """Returns the name of the scoring for which a card's figures and thresholds hold.

    Args:
        card: A model card, or None. A card without the entry `scoring` holds for `nearest`.
    """
    return (card or {}).get("scoring", {}).get("name", DEFAULT)


def card_for(card: dict[str, Any] | None, scoring: str) -> dict[str, Any] | None:
    """Returns a card with only the thresholds and imposter scores of one scoring.

    Args:
        card: Card of a model, or None.
        scoring: Name of the scoring. A threshold of the card without the entry `scoring` belongs to
            the scoring `nearest`.
    """
    if card is None:
        return None
    rows = card.get("thresholds", [])
    rows = [row for row in rows if row.get("scoring", DEFAULT) == scoring]
    about = {**card, "thresholds": rows}
    if card_scoring(card) != scoring:
        about.pop("imposters", None)
    return about


def _starts(counts):
    return np.cumsum([0, *counts[:-1]])


def _parts(summary):
    """Returns the vectors, shape `(sets, features)`, and the variances, shape `(features,)`."""
    embeddings = summary.embeddings.astype(np.float64)
    return embeddings[:, 0], embeddings[0, 1]
