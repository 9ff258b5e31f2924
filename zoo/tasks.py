"""Measures a classifier of images on verification, retrieval, few-shot learning and novelty
detection.
"""

import numpy as np
from scipy import stats

from keras_dml import evaluation, inference
from zoo import classifiers

PROBES = 1000  # images that are compared with all later ones
GROUPS = 10  # of probes, over which standard errors are taken
FEW_SHOT, EPISODES = ((20, 1), (20, 5)), 600  # ways and shots


def rows(model, x, y, new, new_labels):
    """Computes rows for the entry `figures` of a card. The images are compared by the learned
    similarity and by the cosine of their embeddings.

    Args:
        model: `PrototypicalClassifier`.
        x: Images of the trained classes. The images were not used in training.
        y: Class ids, shape `(images,)`.
        new: Images of classes that were not used in training.
        new_labels: Class ids of `new`.
    """
    z, unknown = (inference.embed(model, images, batch_size=500) for images in (x, new))
    few = classifiers.few_shot(model, new, new_labels, FEW_SHOT, EPISODES)
    return [*compared(model, z, y), *few, *novelty(model, z, unknown)]


def known_classes(model, x, y):
    """Computes rows of a card with figures of verification and retrieval among images of the
    trained classes.

    Args:
        model: `PrototypicalClassifier`.
        x: Images that were not used in training, in any order.
        y: Class ids, shape `(images,)`.

    Raises:
        ValueError: If there are too few images.
    """
    if len(y) <= PROBES:
        raise ValueError(
            f"Received {len(y):,} images. Verification and retrieval compare {PROBES:,} images "
            f"with the other images. Give more than {PROBES:,} images."
        )
    order = np.random.default_rng(0).permutation(len(y))
    return compared(model, inference.embed(model, x[order], batch_size=100), y[order])


def compared(model, z, y):
    """Measures verification and retrieval by comparing each of the first images with all later
    images.

    The images must not be sorted by class. The similarity and the cosine are compared on the same
    groups of images. The intervals of the differences are from Student's t distribution.
    """
    tables = {
        "sim": -np.asarray(model.similarity(z[:PROBES], z[PROBES:])),
        "cosine": -_unit(z[:PROBES]) @ _unit(z[PROBES:]).T,
    }
    groups = np.array_split(np.arange(PROBES), GROUPS)
    whole, parts = {}, {}
    for head, table in tables.items():
        whole[head] = _figures(table, y[:PROBES], y[PROBES:])
        some = [_figures(table[rows], y[rows], y[PROBES:]) for rows in groups]
        parts[head] = {kind: np.array([figures[kind] for figures in some]) for kind in whole[head]}
    counts = {"verification": tables["sim"].size, "retrieval": PROBES}
    rows_of_card = [
        _row(*kind, value, stats.sem(parts[head][kind]), counts[kind[0]], head)
        for head in tables
        for kind, value in whole[head].items()
    ]
    for kind in whole["sim"]:
        value = whole["sim"][kind] - whole["cosine"][kind]
        error = stats.sem(parts["sim"][kind] - parts["cosine"][kind])
        interval = value + error * stats.t.ppf([0.025, 0.975], GROUPS - 1)
        row = _row(*kind, value, error, counts[kind[0]], "sim less cosine")
        rows_of_card.append({**row, "ci95": interval.tolist()})
    return rows_of_card


def _figures(table, probes, gallery):
    """Computes figures from the distances between probes and a gallery. Returns a dictionary with
    keys `(protocol, metric)`.
    """
    verified = evaluation.verification(table, probes[:, None] == gallery)
    ranked = evaluation.retrieval(
        table, probes, gallery_labels=gallery, distance="precomputed", k=(1,)
    )
    return {
        ("verification", "eer"): verified.eer,
        ("verification", "auc"): verified.auc,
        ("retrieval", "recall_at_1"): ranked.recall_at_k[1],
        ("retrieval", "map_at_r"): ranked.map_at_r,
    }


def novelty(model, z, new):
    """Measures how well images of other classes are detected by their largest class score. Computes
    the AUC.
    """
    rows_of_card = []
    for head in ("sim", "dol"):
        largest, unknown = (
            evaluation.novelty(model.head_scores(values, head)) for values in (z, new)
        )
        auroc = evaluation.novelty_detection(largest, unknown).auroc
        parts = zip(*(np.array_split(values, GROUPS) for values in (largest, unknown)), strict=True)
        error = stats.sem([evaluation.novelty_detection(*part).auroc for part in parts])
        rows_of_card.append(_row("novelty", "auc", auroc, error, len(z) + len(new), head))
    return rows_of_card


def _row(protocol, metric, value, error, trials, head):
    return {
        "protocol": protocol,
        "n": 1,
        "metric": metric,
        "value": float(value),
        "stderr": float(error),
        "trials": int(trials),
        "head": head,
    }


def _unit(z):
    return z / np.linalg.norm(z, axis=1, keepdims=True)
