"""Measures `voice_ge2e_sim` and its baselines. The model's card contains the results."""

import numpy as np

from keras_dml import evaluation, inference, layers
from keras_dml._backend import keras
from keras_dml.training import pooled
from zoo import voice_evidence, voices
from zoo.voice_ge2e_sim import encoder


def evidence(trained):
    """Measures the model on the original recordings of the data sets. The recordings are neither
    trimmed nor scaled.
    """
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
    """Computes the cosine between Resemblyzer's vectors, which are the input of the trained layer.

    Args:
        model: The published classifier.
        people: `People` with the original recordings of the data sets, because Resemblyzer's
            encoder was trained on recordings with silence.
        rows: Indices of the two recordings in each trial.
    """
    what = "the cosine of Resemblyzer's vectors, without Resemblyzer's silence trimming"
    scores = voice_evidence.cosine(vectors(model), people.signals, rows)
    return {"Resemblyzer's encoder": (what, pooled.INSTEAD, scores)}


def untrained(model, teaching, people, rows):
    """Computes the cosine of trials before the linear layer is trained. The layer is initialized
    from the training voices.

    Args:
        model: The published classifier.
        teaching: Training people.
        people: `People` with the recordings that the trials compare.
        rows: Indices of the two recordings in each trial.
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
    """Returns the part of a classifier's encoder that computes Resemblyzer's vectors, without the
    layer that removes silence.
    """
    audio, *before, _ = model.encoder.layers
    x = audio.output
    for layer in before:
        x = x if isinstance(layer, layers.SilenceRemoval) else layer(x)
    return keras.Model(audio.output, x)
