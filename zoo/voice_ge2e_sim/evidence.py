"""Measures `voice_ge2e_sim` and its baselines for its card."""

import numpy as np

from keras_dml import evaluation, inference, layers
from keras_dml._backend import keras
from keras_dml.training import pooled
from zoo import voice_evidence, voices
from zoo.voice_ge2e_sim import encoder


def evidence(trained):
    """Measures the model on recordings as they are in the data sets."""
    every = voices.everybody(prepare=False)
    teaching = every.take(voices.teaches(every.subjects))
    left, pairs = voices.of_test(every)

    def alternatives(rows):
        return {
            **converted(trained.whole, left, rows),
            **untrained(trained.whole, teaching, left, rows),
        }

    return voice_evidence.of_similarity(trained, teaching, left, pairs, alternatives)


def converted(model, people, rows):
    """Computes the cosine of the vectors before the trained layer.

    Args:
        model: The published classifier.
        people: Recordings as they are in the data sets, because Resemblyzer's encoder was trained
            on such recordings.
        rows: Indices of the two recordings of each trial.
    """
    what = "the cosine of Resemblyzer's vectors, without Resemblyzer's silence trimming"
    scores = voice_evidence.cosine(vectors(model), people.signals, rows)
    return {"Resemblyzer's encoder": (what, pooled.INSTEAD, scores)}


def untrained(model, teaching, people, rows):
    """Computes the cosine of trials with the linear layer as initialized from the training voices.

    Args:
        model: The published classifier.
        teaching: `People` of the training.
        people: `People` of the trials.
        rows: Indices of the two recordings of each trial.
    """
    head = encoder.new_head(encoder.by_set(encoder.window_vectors(teaching, model.encoder)))
    signals = encoder.window_vectors(people, model.encoder).signals
    z = inference.embed(head, signals, progress=False)
    what = (
        f"{encoder.EMBEDDING} scaled principal axes of Resemblyzer's vectors, compared by the "
        "cosine, before training"
    )
    scores = -evaluation.paired_cosine(*(z[side] for side in np.asarray(rows)))
    return {"Resemblyzer's axes": (what, pooled.INSTEAD, scores)}


def vectors(model):
    """Returns the encoder of a classifier up to Resemblyzer's vectors, without silence removal."""
    audio, *before, _ = model.encoder.layers
    x = audio.output
    for layer in before:
        x = x if isinstance(layer, layers.SilenceRemoval) else layer(x)
    return keras.Model(audio.output, x)
