"""Figures of the distances between recordings of people who were never trained on."""

import numpy as np

from keras_dml import evaluation, inference, reports
from keras_dml.evaluation import protocol, splits
from keras_dml.geometry.quantile import divergences
from keras_dml.reproduce.wasserstein.recordings import OBSERVED, SEED
from keras_dml.training import trials

QUANTILES = np.linspace(0.0, 1.0, 41)
MAPPED, MAPPED_RECORDINGS = 8, 12  # people on a map, and recordings of each
WASSERSTEIN, JENSEN_SHANNON, KULLBACK_LEIBLER = "Wasserstein", "Jensen-Shannon", "Kullback-Leibler"
FILTERS_AT_ONCE = 2**17  # pairs of filters whose divergence is computed at once


def trials_of(recordings, distances=None):
    """Trials of each recording of a person's last block against everybody's earlier ones.

    Args:
        recordings: `Recordings`.
        distances: Between all of them; zeros when None.

    Returns:
        `keras_dml.training.trials.Trials`.
    """
    if distances is None:
        distances = np.zeros((len(recordings), len(recordings)))
    return trials.latest_against_earlier(distances, recordings.subjects, recordings.blocks)


def measure(distances, recordings):
    """The paper's protocol, and the scores of the stricter trials.

    Args:
        distances: Between all recordings, shape `(recordings, recordings)`.
        recordings: `Recordings`.

    Returns:
        Dict of `figures`, records of `evaluation.paper_protocol`, and `scores` of `trials_of`.
    """
    found = protocol.paper_protocol(distances, recordings.subjects, seed=SEED)
    return {"figures": found, "scores": _plain(trials_of(recordings, distances).scores)}


def look(distances, lengths, recordings):
    """What is drawn of one start: scores of the paper's trials, distances, a map.

    Args:
        distances: Between all recordings, by which the trials are scored.
        lengths: The same, 0 between equal ones, which are drawn.
        recordings: `Recordings`.

    Returns:
        Dict of `draws`, a list of lists, the scores of the paper's verification with five
        recordings observed, a draw each; `spread`, see `spread`; `map`, the plane's coordinates of
        the first people's recordings.
    """
    draws = splits.random_enrollments(recordings.subjects, observed=OBSERVED, seed=SEED)
    rows = first_recordings(recordings, MAPPED, MAPPED_RECORDINGS)
    some = lengths[np.ix_(rows, rows)]
    return {
        "draws": [_plain(protocol.score_matrices(distances, draw)[OBSERVED - 1]) for draw in draws],
        "spread": spread(lengths, recordings.subjects),
        "map": reports.embedding_plane((some + some.T) / 2).round(5).tolist(),
        "mapped": recordings.subjects[rows].tolist(),
    }


def spread(distances, subjects):
    """Quantiles of the distances within and between people, in units of the median between them.

    Args:
        distances: Between all recordings.
        subjects: Person of each.

    Returns:
        Dict of `same` and `other`, quantiles at `QUANTILES`, and `separated`, the fraction of pairs
        of one of each in which that of one person is smaller.
    """
    values, same = _pairs(distances, subjects)
    unit = np.median(values[~same])
    unit = unit if unit > 0 else 1.0
    return {
        "same": np.quantile(values[same] / unit, QUANTILES).tolist(),
        "other": np.quantile(values[~same] / unit, QUANTILES).tolist(),
        "separated": evaluation.verification(values, same).auc,
    }


def auc_of_pairs(distances, subjects):
    """Area under the curve of all pairs of recordings."""
    return evaluation.verification(*_pairs(distances, subjects)).auc


def first_recordings(recordings, people, count):
    """Indices of the first recordings of the first people, who have enough for the protocol."""
    names, counts = np.unique(recordings.subjects, return_counts=True)
    chosen = names[counts > OBSERVED][:people]
    return np.concatenate([np.flatnonzero(recordings.subjects == name)[:count] for name in chosen])


def compare_divergences(z, metric, recordings):
    """Quantile embeddings by the Wasserstein distance and by what the paper argues against.

    Infinite divergences are all the same: larger than any other.

    Args:
        z: Quantile embeddings, shape `(recordings, filters + 1, knots)`, the last row the knots.
        metric: The Wasserstein distance.
        recordings: `Recordings` of these embeddings.

    Returns:
        Dict by the name of the divergence: `figures`, records of `evaluation.paper_protocol`, and
        `infinite`, the fraction of pairs of two recordings.
    """
    values, knots = z[:, :-1].astype(np.float64), z[0, -1]
    tables = {
        WASSERSTEIN: inference.distance(metric, z, z),
        JENSEN_SHANNON: _table(values, knots, divergences.jensen_shannon_distance),
        KULLBACK_LEIBLER: _table(values, knots, _kullback_leibler_sum),
    }
    found = {}
    for name, table in tables.items():
        finite = np.isfinite(table)
        largest = table[finite].max()
        ranked = np.where(finite, table, largest + max(1.0, abs(largest)))
        figures = protocol.paper_protocol(ranked, recordings.subjects, seed=SEED)
        others = ~np.eye(len(table), dtype=bool)
        found[name] = {"figures": figures, "infinite": float((~finite[others]).mean())}
    return found


def _kullback_leibler_sum(x, y, knots):
    return divergences.kullback_leibler(x, y, knots).sum(axis=-1)


def _table(values, knots, divergence):
    """Divergences of all embeddings from all, those of the observed in rows."""
    rows = max(1, FILTERS_AT_ONCE // (len(values) * values.shape[1]))
    blocks = [
        divergence(values[i : i + rows, None], values[None], knots)
        for i in range(0, len(values), rows)
    ]
    return np.concatenate(blocks)


def _pairs(distances, subjects):
    first, second = np.triu_indices(len(subjects), k=1)
    return distances[first, second], subjects[first] == subjects[second]


def _plain(scores):
    """Numbers of seven digits, which is what float32 has."""
    return [float(f"{score:.7g}") for score in np.ravel(scores)]
