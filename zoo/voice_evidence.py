"""Measures voice models on actors and callers who were not used in training. The models' cards
contain the results.
"""

import functools

import numpy as np

from keras_dml import evaluation, inference
from keras_dml._backend import keras
from keras_dml.training import measure, pooled
from keras_dml.training.trials import from_pairs
from zoo import speech, voice_classifiers, voices
from zoo.evidence import Evidence
from zoo.voice_logcov_lda import encoder as log_covariance


def of_similarity(trained, teaching, left, pairs, others):
    """Compares all pairs of recordings from the same data set by the learned similarity. Each of
    the two recordings in a pair is the probe in one trial.

    Args:
        trained: `zoo.evidence.Trained`.
        teaching: Training people.
        left: `People` who were not used in training.
        pairs: Trials between recordings of `left`, see `voices.trials`.
        others: Function that takes the indices of the recordings in each trial and returns other
            methods, see `Evidence.baselines`.
    """
    rows = np.concatenate([pairs[:2], pairs[1::-1]], axis=1)
    scores = voice_classifiers.scores(trained.whole, left.signals, rows)
    claims = from_pairs(-scores["sim"], *rows, left.subjects)
    baselines = functools.partial(beside, teaching, left, rows, scores, others)
    return Evidence(measure.Measurement([], claims), baselines, confounders(left.subjects))


def confounders(subjects):
    """Returns groups of similar voices. The women form one group, and the men form another group.
    If the voices are from two data sets, the voices of each data set also form a group.
    """
    groups = {"people of the same sex": {subject: speech.sex(subject) for subject in subjects}}
    telephone = voices.is_telephone(subjects)
    if telephone.any() and not telephone.all():
        sets = {
            "actors recorded in the studio": ~telephone,
            "callers recorded over the telephone": telephone,
        }
        for name, members in sets.items():
            marks = np.where(members, name, None)
            groups[name] = dict(zip(subjects, marks, strict=True))
    return groups


def beside(teaching, people, rows, found, others):
    """Computes the baselines: methods without a network, the cosine, the sum of similarity and
    cosine, and other methods.
    """
    model = statistics()
    taught, asked = (embedded(model, recordings.signals) for recordings in (teaching, people))
    return {
        **closed_forms(taught, teaching.subjects, asked, rows),
        "cosine": ("the cosine of the same embeddings", pooled.SAME_MODEL, -found["cosine"]),
        "sum": ("the sum of similarity and cosine", pooled.SAME_MODEL, -found["fused"]),
        **others(rows),
    }


def untrained(signals, rows):
    """Computes for each trial the negative cosine between log covariances of cepstra, without
    training.
    """
    return cosine(statistics(), signals, rows)


def statistics():
    """Returns an untrained model that computes log covariances of cepstra.

    The model has no `SilenceRemoval` layer, because the layer would raise the error rates on the
    recordings that the cards use.
    """
    network = log_covariance.network(log_covariance.CEPSTRA[0])
    return keras.Model(network.input, network.get_layer("statistics").output)


def closed_forms(known, voices_known, asked, rows):
    """Compares log covariances of cepstra by the cosine, in three forms: unchanged, centered, and
    after linear discriminant analysis.

    The mean of the log covariances over all voices has a much larger norm than the differences
    between voices. Therefore the cosine without centering is not informative.

    Args:
        known: Log covariances of training recordings, shape `(recordings, features)`.
        voices_known: Voice of each recording in `known`.
        asked: Log covariances of the recordings in the trials.
        rows: Indices of the two recordings in each trial.

    Returns:
        Baselines, see `zoo.evidence.Evidence`.
    """
    kernel, bias = log_covariance.discriminants(known, np.asarray(voices_known))
    vectors = {
        "log covariance of cepstra": ("the cosine between log covariances of cepstra", asked),
        "centered log covariance": (
            "the cosine between log covariances of cepstra, centered on the training recordings",
            asked - known.mean(axis=0),
        ),
        "linear discriminants": (
            "linear discriminants of the log covariance of cepstra, fitted to the training voices",
            asked @ kernel + bias,
        ),
    }
    first, second = rows
    return {
        name: (what, pooled.NO_NETWORK, -evaluation.paired_cosine(z[first], z[second]))
        for name, (what, z) in vectors.items()
    }


def cosine(network, signals, rows):
    """Computes the negative cosine between the two embeddings of each trial."""
    z = embedded(network, signals)
    return -evaluation.paired_cosine(z[rows[0]], z[rows[1]])


def embedded(network, signals):
    """Computes embeddings and returns them as float64."""
    z = inference.embed(network, signals, voice_classifiers.AT_ONCE, progress=False)
    return z.astype(np.float64)
