"""What a classifier of images does beyond naming its classes: verification, retrieval, new classes
from few examples, and the detection of what belongs to none of its classes."""

import numpy as np

from keras_dml import evaluation, inference
from zoo import classifiers

PROBES = 1000  # images that are compared with all later ones
FEW_SHOT, EPISODES = ((20, 1), (20, 5)), 600  # ways and shots


def rows(model, x, y, new, new_labels):
    """Rows of a card's figures, by the learned similarity and by the cosine of its embeddings.

    Args:
        model: `PrototypicalClassifier`.
        x: Images that it was not trained on, of the classes that it knows.
        y: Class ids, shape `(images,)`.
        new: Images of other classes.
        new_labels: Ids of those classes.
    """
    z, other = (inference.embed(model, images, batch_size=500) for images in (x, new))
    few = classifiers.few_shot(model, new, new_labels, FEW_SHOT, EPISODES)
    return [*compared(model, z, y), *few, *novelty(model, z, other)]


def compared(model, z, y):
    """Verification and retrieval: each of the first images against all later ones."""
    genuine, found = y[:PROBES, None] == y[PROBES:], []
    distances = {
        "sim": -np.asarray(model.similarity(z[:PROBES], z[PROBES:])),
        "cosine": -_unit(z[:PROBES]) @ _unit(z[PROBES:]).T,
    }
    for head, table in distances.items():
        verified = evaluation.verification(table, genuine)
        ranked = evaluation.retrieval(
            table, y[:PROBES], gallery_labels=y[PROBES:], distance="precomputed", k=(1,)
        )
        values = {
            ("verification", "eer"): (verified.eer, table.size),
            ("verification", "auc"): (verified.auc, table.size),
            ("retrieval", "recall_at_1"): (ranked.recall_at_k[1], len(table)),
            ("retrieval", "map_at_r"): (ranked.map_at_r, len(table)),
        }
        found += [_row(*kind, value, count, head) for kind, (value, count) in values.items()]
    return found


def novelty(model, z, new):
    """AUC of telling images of other classes from those of known ones by the largest score."""
    found = []
    for head in ("sim", "dol"):
        known, other = (evaluation.novelty(model.head_scores(one, head)) for one in (z, new))
        auroc = evaluation.novelty_detection(known, other).auroc
        found.append(_row("novelty", "auc", auroc, len(z) + len(new), head))
    return found


def _row(protocol, metric, value, trials, head):
    return {
        "protocol": protocol,
        "n": 1,
        "metric": metric,
        "value": float(value),
        "stderr": 0.0,
        "trials": int(trials),
        "head": head,
    }


def _unit(z):
    return z / np.linalg.norm(z, axis=1, keepdims=True)
