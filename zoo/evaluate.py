"""Figures and thresholds of a model on recordings of people, in the form that cards have."""

import dataclasses

import numpy as np

from keras_dml import evaluation, inference
from keras_dml.evaluation import protocol

FARS = (0.01, 0.001)
FRACTION_OF_CARDS = 1.0  # identification among all test people; the smaller galleries are easier


def figures(distances, subjects, sessions):
    """Both protocols: n = 1 and n = 5 observed recordings, with all test people enrolled.

    In the stricter one people with fewer than five recordings in their last session stay in for n =
    1.

    Args:
        distances: All distances between the recordings, shape `(recordings, recordings)`.
        subjects: Person of each recording.
        sessions: Session of each recording, in the order of time.

    Returns:
        Entries of a card's `figures`.
    """
    found = protocol.paper_protocol(
        distances, subjects, n=(1, 5), fractions=(0.5, FRACTION_OF_CARDS)
    )
    for n in (1, 5):
        try:
            found += protocol.session_protocol(
                distances,
                subjects,
                sessions,
                observed=n,
                n=(n,),
                fractions=(0.5, FRACTION_OF_CARDS),
            )
        except ValueError:  # too few people have n recordings in a later session
            continue
    return found


def every_probe(distances, subjects, sessions):
    """Scores and truth of all single recordings of last sessions against all people's earlier ones.

    More trials than a draw of the protocol has, for thresholds; the trials of one person are not
    independent, so intervals made of them are too narrow.

    Args:
        distances: All distances between the recordings, shape `(recordings, recordings)`.
        subjects: Person of each recording.
        sessions: Session of each recording, in the order of time.

    Returns:
        Scores, small is near, and whether the claim is true; both of shape `(trials,)`.
    """
    subjects, sessions = np.asarray(subjects), np.asarray(sessions)
    last = {name: sessions[subjects == name].max() for name in set(subjects.tolist())}
    probes = sessions == [last[name] for name in subjects]
    people = sorted(set(subjects[~probes].tolist()))
    nearest = [
        distances[np.ix_(probes, ~probes & (subjects == name))].min(axis=1) for name in people
    ]
    genuine = subjects[probes, None] == people
    return np.stack(nearest, axis=1).ravel(), genuine.ravel()


def thresholds(scores, genuine):
    """Thresholds at fixed false accept rates; a rate that the number of trials cannot show is left
    out.

    Returns:
        Entries of a card's `thresholds`.
    """
    shown = [far for far in FARS if (~genuine).sum() * far >= 1]
    found = [dataclasses.asdict(evaluation.threshold_at_far(scores, genuine, far)) for far in shown]
    return [{**entry, "far_ci95": list(entry["far_ci95"])} for entry in found]


def all_distances(model, recordings):
    """Distances between all recordings, shape `(recordings, recordings)`."""
    embeddings = inference.embed(model, recordings)
    return inference.distance(model, embeddings, embeddings)


def summary(found):
    """The entries as lines to read, one a figure."""
    return "\n".join(
        f"{f['protocol']:>24}  n={f['n']}  {f['metric']:<18} {f['value']:.4f} ± {f['stderr']:.4f} "
        f" ({f['trials']} trials)"
        for f in found
    )


def synthetic_recordings(channels, lengths, scale, seed=0):
    """Smooth noise in the range of the sensor, for a golden file that shows nobody's data.

    Args:
        channels: Number of channels.
        lengths: Steps of each recording.
        scale: Standard deviation of the channels, a number or shape `(channels,)`.
        seed: Of the generator.
    """
    rng = np.random.default_rng(seed)
    smooth = np.hanning(9) / np.linalg.norm(np.hanning(9))
    recordings = []
    for length in lengths:
        white = rng.normal(size=(length + 8, channels))
        recordings.append(
            np.apply_along_axis(np.convolve, 0, white, smooth, "valid").astype(np.float32)
            * np.float32(scale)
        )
    return recordings
