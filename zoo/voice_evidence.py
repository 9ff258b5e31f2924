"""Measures voice models for their cards, on actors and callers who were not used in training."""

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
    """Compares all pairs of recordings of one data set by the learned similarity, in both
    directions.

    Args:
        trained: `zoo.evidence.Trained`.
        teaching: `People` of the training.
        left: `People` who were not used in training.
        pairs: Trials of `left`, see `voices.trials`.
        others: Function that takes the rows of the trials and returns other methods, see
            `Evidence.baselines`.
    """
    rows = np.concatenate([pairs[:2], pairs[1::-1]], axis=1)
    scores = voice_classifiers.scores(trained.whole, left.signals, rows)
    claims = from_pairs(-scores["sim"], *rows, left.subjects)
    baselines = functools.partial(beside, teaching, left, rows, scores, others)
    return Evidence(measure.Measurement([], claims), baselines, confounders(left.subjects))


def confounders(subjects):
    """Returns groups of similar voices: voices of one sex, and voices of one data set if there are
    two.
    """
    groups = {"people of one sex": {subject: speech.sex(subject) for subject in subjects}}
    telephone = voices.is_telephone(subjects)
    if telephone.any() and not telephone.all():
        sets = {"actors in the studio": ~telephone, "callers over the telephone": telephone}
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
    """Computes the negative cosine of log covariances of cepstra for trials, without training."""
    return cosine(statistics(), signals, rows)


def statistics():
    """Returns the untrained model of log covariances of cepstra.

    The model has no `SilenceRemoval`, which would raise the error rates on the recordings of the
    cards.
    """
    network = log_covariance.network(log_covariance.CEPSTRA[0])
    return keras.Model(network.input, network.get_layer("statistics").output)


def closed_forms(known, voices_known, asked, rows):
    """Compares log covariances of cepstra by the cosine: unchanged, centered, and after linear
    discriminants.

    The mean of the log covariances over all voices is long compared with the differences between
    voices, so the cosine without centering is not informative.

    Args:
        known: Log covariances of training recordings, shape `(recordings, features)`.
        voices_known: Voice of each recording in `known`.
        asked: Log covariances of the recordings of the trials.
        rows: Indices of the two recordings of each trial.

    Returns:
        Baselines, see `zoo.evidence.Evidence`.
    """
    kernel, bias = log_covariance.discriminants(known, np.asarray(voices_known))
    vectors = {
        "log covariance of cepstra": ("cosine", asked),
        "centered log covariance": (
            "the log covariance of cepstra minus its mean over the training recordings",
            asked - known.mean(axis=0),
        ),
        "linear discriminants": (
            "linear discriminants of the log covariance of cepstra, in closed form, fitted to the "
            "training voices",
            asked @ kernel + bias,
        ),
    }
    first, second = rows
    return {
        name: (what, pooled.NO_NETWORK, -evaluation.paired_cosine(z[first], z[second]))
        for name, (what, z) in vectors.items()
    }


def cosine(network, signals, rows):
    """Computes the negative cosine of trials."""
    z = embedded(network, signals)
    return -evaluation.paired_cosine(z[rows[0]], z[rows[1]])


def embedded(network, signals):
    """Computes embeddings in float64."""
    z = inference.embed(network, signals, voice_classifiers.AT_ONCE, progress=False)
    return z.astype(np.float64)
