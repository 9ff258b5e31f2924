"""Computes figures from the distances between recordings by people who were not used in
training.
"""

from typing import Any

import numpy as np

from keras_dml import evaluation, inference, reports
from keras_dml.distances import Distance
from keras_dml.evaluation import protocol, splits
from keras_dml.geometry.quantile import divergences
from keras_dml.training import trials
from zoo.papers.wasserstein.recordings import OBSERVED, SEED, Recordings

QUANTILES = np.linspace(0.0, 1.0, 41)
MAPPED_PEOPLE, MAPPED_RECORDINGS = 8, 12  # people on a map, and recordings of each person
WASSERSTEIN, JENSEN_SHANNON, KULLBACK_LEIBLER = "Wasserstein", "Jensen-Shannon", "Kullback-Leibler"
FILTERS_PER_CALL = 2**17  # pairs of filters whose divergence is computed in one call


def strict_trials(recordings: Recordings, distances: np.ndarray | None = None) -> trials.Trials:
    """Returns trials that compare each recording in a person's last block with all earlier
    recordings.

    Args:
        recordings: `Recordings`.
        distances: Distances between all recordings. Default: zeros.
    """
    if distances is None:
        distances = np.zeros((len(recordings), len(recordings)))
    return trials.latest_against_earlier(distances, recordings.subjects, recordings.blocks)


def measure(distances: np.ndarray, recordings: Recordings) -> dict[str, Any]:
    """Evaluates distances with the paper's protocol, and computes the scores of the stricter
    trials.

    Args:
        distances: Distances between all recordings, shape `(recordings, recordings)`.
        recordings: `Recordings`.

    Returns:
        Dictionary with `figures`, the result of `evaluation.paper_protocol`, and `scores`, the
        scores of `strict_trials`.
    """
    figures = protocol.paper_protocol(distances, recordings.subjects, seed=SEED)
    return {"figures": figures, "scores": _rounded(strict_trials(recordings, distances).scores)}


def drawing_data(
    distances: np.ndarray, lengths: np.ndarray, recordings: Recordings
) -> dict[str, Any]:
    """Returns the data that the pictures of one seed need.

    Args:
        distances: Distances between all recordings, which are used as scores.
        lengths: The same distances, converted by `Method.lengths`, so that the distance between
            equal embeddings is 0.
        recordings: `Recordings`.

    Returns:
        Dictionary with the following entries. `draws` contains one entry per random draw: the
        scores of verification in the paper's protocol, with five new recordings per person.
        `spread` is the result of the function `spread`. `map` contains coordinates in the plane for
        recordings of the first people, and `mapped` contains the person of each of these
        recordings.
    """
    draws = splits.random_enrollments(recordings.subjects, observed=OBSERVED, seed=SEED)
    rows = first_recordings(recordings, MAPPED_PEOPLE, MAPPED_RECORDINGS)
    mapped = lengths[np.ix_(rows, rows)]
    return {
        "draws": [
            _rounded(protocol.score_matrices(distances, draw)[OBSERVED - 1]) for draw in draws
        ],
        "spread": spread(lengths, recordings.subjects),
        "map": reports.embedding_plane((mapped + mapped.T) / 2).round(5).tolist(),
        "mapped": recordings.subjects[rows].tolist(),
    }


def spread(distances: np.ndarray, subjects: np.ndarray) -> dict[str, Any]:
    """Returns quantiles of the distances within people and of the distances between people. The
    distances are divided by the median distance between people.

    Args:
        distances: Distances between all recordings.
        subjects: Person of each recording.

    Returns:
        Dictionary with three entries. `same` contains quantiles (at `QUANTILES`) of the distances
        within people, and `other` contains quantiles of the distances between people. `separated`
        is the probability that a distance within a person is smaller than a distance between two
        people.
    """
    values, is_genuine = _pairs(distances, subjects)
    unit = np.median(values[~is_genuine])
    unit = unit if unit > 0 else 1.0
    return {
        "same": np.quantile(values[is_genuine] / unit, QUANTILES).tolist(),
        "other": np.quantile(values[~is_genuine] / unit, QUANTILES).tolist(),
        "separated": evaluation.verification(values, is_genuine).auc,
    }


def auc_of_pairs(distances: np.ndarray, subjects: np.ndarray) -> float:
    """Computes the area under the ROC curve over all pairs of recordings."""
    return evaluation.verification(*_pairs(distances, subjects)).auc


def first_recordings(recordings: Recordings, people: int, count: int) -> np.ndarray:
    """Selects the first people who have enough recordings for the protocol, and returns the indices
    of their first recordings.

    Args:
        recordings: `Recordings`.
        people: Number of people.
        count: Number of recordings per person.
    """
    names, counts = np.unique(recordings.subjects, return_counts=True)
    names = names[counts > OBSERVED][:people]
    return np.concatenate([np.flatnonzero(recordings.subjects == name)[:count] for name in names])


def compare_divergences(z: np.ndarray, metric: Distance, recordings: Recordings) -> dict[str, Any]:
    """Evaluates quantile embeddings by the Wasserstein distance and by two divergences.

    According to the paper, the Jensen-Shannon and Kullback-Leibler divergences are worse than the
    Wasserstein distance. All infinite divergences are replaced by the same number, which is larger
    than all finite divergences.

    Args:
        z: Quantile embeddings, shape `(recordings, filters + 1, knots)`. The last row of an
            embedding contains the knots.
        metric: The Wasserstein distance.
        recordings: `Recordings` from which the embeddings were computed.

    Returns:
        Dictionary from the name of a divergence to a dictionary with `figures` and `infinite`.
        `figures` is the result of `evaluation.paper_protocol`. `infinite` is the fraction of all
        pairs that have an infinite divergence.
    """
    values, knots = z[:, :-1].astype(np.float64), z[0, -1]
    tables = {
        WASSERSTEIN: inference.distance(metric, z, z),
        JENSEN_SHANNON: _divergences(values, knots, divergences.jensen_shannon_distance),
        KULLBACK_LEIBLER: _divergences(values, knots, _kullback_leibler_sum),
    }
    results = {}
    for name, table in tables.items():
        is_finite = np.isfinite(table)
        largest = table[is_finite].max()
        ranked = np.where(is_finite, table, largest + max(1.0, abs(largest)))
        figures = protocol.paper_protocol(ranked, recordings.subjects, seed=SEED)
        off_diagonal = ~np.eye(len(table), dtype=bool)
        infinite = float((~is_finite[off_diagonal]).mean())
        results[name] = {"figures": figures, "infinite": infinite}
    return results


def _kullback_leibler_sum(x, y, knots):
    return divergences.kullback_leibler(x, y, knots).sum(axis=-1)


def _divergences(values, knots, divergence):
    """Computes the divergences between all pairs of embeddings. Observed embeddings are rows."""
    rows = max(1, FILTERS_PER_CALL // (len(values) * values.shape[1]))
    blocks = [
        divergence(values[i : i + rows, None], values[None], knots)
        for i in range(0, len(values), rows)
    ]
    return np.concatenate(blocks)


def _pairs(distances, subjects):
    """Returns the distance of each pair of recordings, and whether the two recordings are from the
    same person.
    """
    first, second = np.triu_indices(len(subjects), k=1)
    return distances[first, second], subjects[first] == subjects[second]


def _rounded(scores):
    """Rounds numbers to seven digits, the precision of float32."""
    return [float(f"{score:.7g}") for score in np.ravel(scores)]
