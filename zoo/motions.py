"""Reads clips of HDM05 by motion and actor, and measures the retrieval of motions."""

import numpy as np

from keras_dml import evaluation, inference
from keras_dml.training import People, measure, trials
from zoo import people

ACTORS = ("bd", "bk", "dg", "mm")
MAP_AT_R = "map_at_r"


def clips(actors=ACTORS):
    """Reads the clips without changing them. The class of a clip is its motion, and the session of
    a clip is its actor.
    """
    result = People([], [], [])
    for actor in actors:
        records = people.read("hdm05_mocap/sequences", f"actor_{actor}")
        result += people.collect(records, lambda _, actor=actor: actor, subject="motion")
    return result


def by_actor(every, actors):
    """Returns the clips of some actors, and the clips of all other actors."""
    is_actor = np.isin(every.sessions, actors)
    return every.take(is_actor), every.take(~is_actor)


def resampled(signal, steps):
    """Resamples a signal to equally spaced steps by linear interpolation."""
    position = np.linspace(0, len(signal) - 1, steps)
    low = np.minimum(position.astype(int), len(signal) - 2)
    fraction = (position - low)[:, None].astype(np.float32)
    return (1 - fraction) * signal[low] + fraction * signal[low + 1]


def over_actors(every, distances):
    """Compares the clips of each actor with the clips of the other actors.

    Args:
        every: `keras_dml.training.People` with all clips.
        distances: One function per actor that computes the distances between all clips of a list.
            The distances of an actor are divided by the `measure.distance_unit` of the other
            actors' clips, so that all actors can share one threshold.
    """
    parts = []
    for actor, between in zip(ACTORS, distances, strict=True):
        probes, gallery = by_actor(every, actor)
        count = len(probes.signals)
        table = between(probes.signals + gallery.signals)[:count, count:]
        table = table / measure.distance_unit(between, gallery)
        parts.append(evaluate(table, probes.subjects, gallery.subjects))
    return measure.combine_folds(parts)


def evaluate(distances, probes, gallery):
    """Measures how well the motions of clips are retrieved and verified with a gallery of other
    clips.

    Args:
        distances: Shape `(probes, gallery)`.
        probes: Motion of each probe, shape `(probes,)`.
        gallery: Motion of each clip of the gallery, shape `(gallery,)`.
    """
    retrieved = evaluation.retrieval(
        distances, probes, gallery_labels=gallery, distance="precomputed", k=(1, 3)
    )
    claims = trials.against_gallery(distances, probes, gallery, "motions")
    verified = evaluation.verification(claims.scores, claims.genuine)
    retrieval, verification = ("retrieval", len(probes)), ("verification", claims.scores.size)
    values = {
        "recall_at_1": (retrieved.recall_at_k[1], *retrieval),
        "recall_at_3": (retrieved.recall_at_k[3], *retrieval),
        MAP_AT_R: (retrieved.map_at_r, *retrieval),
        "auc": (verified.auc, *verification),
        "eer": (verified.eer, *verification),
    }
    rows = [
        {"protocol": kind, "n": 1, "metric": metric, "value": value, "stderr": 0.0, "trials": count}
        for metric, (value, kind, count) in values.items()
    ]
    return measure.Measurement(rows, claims)


def map_at_r(encoder, probes, gallery):
    """Computes the MAP@R of an encoder's distances from probes to a gallery."""
    embeddings = [inference.embed(encoder, clips.signals) for clips in (probes, gallery)]
    measured = evaluate(inference.distance(encoder, *embeddings), probes.subjects, gallery.subjects)
    return {row["metric"]: row["value"] for row in measured.figures}[MAP_AT_R]
