"""Measures `voice_ge2e` and its baselines. The model's card contains the results."""

import functools

import numpy as np

from keras_dml import zoo
from keras_dml._backend import keras
from keras_dml.training import measure, pooled
from keras_dml.training.trials import from_pairs
from zoo import voice_classifiers, voice_evidence, voices
from zoo.evidence import Evidence
from zoo.voice_ge2e_sim.encoder import silence_removal


def evidence(trained):
    """Measures the model on the trials of `voice_ge2e_sim`. Each of the two recordings in a pair is
    the probe in one trial.
    """
    every = voices.everybody(prepare=False)
    teaching = every.take(voices.teaches(every.subjects))
    left, pairs = voices.of_test(every)
    rows = np.concatenate([pairs[:2], pairs[1::-1]], axis=1)
    scores = voice_evidence.cosine(trained.whole, left.signals, rows)
    claims = from_pairs(scores, *rows, left.subjects)
    baselines = functools.partial(_others, trained.whole, teaching, left, rows)
    return Evidence(
        measure.Measurement([], claims), baselines, voice_evidence.confounders(left.subjects)
    )


def _others(model, teaching, people, rows):
    """Computes the baselines: methods without a network, the model after silence is removed, and
    `voice_ge2e_sim`.
    """
    statistics = voice_evidence.statistics()
    known, asked = (
        voice_evidence.embedded(statistics, recordings.signals) for recordings in (teaching, people)
    )
    learned = voice_classifiers.scores(zoo.load("voice_ge2e_sim"), people.signals, rows)["sim"]
    speech = voice_evidence.cosine(without_silence(model), people.signals, rows)
    return {
        **voice_evidence.closed_forms(known, teaching.subjects, asked, rows),
        "silence removed": ("the model after silence is removed", pooled.SAME_MODEL, speech),
        "voice_ge2e_sim": (
            "the same encoder with layers and a similarity that were trained on other people of "
            "the same data sets",
            pooled.INSTEAD,
            -learned,
        ),
    }


def without_silence(model):
    """Returns a model that removes silence after the input contract, as `voice_ge2e_sim` does."""
    audio, contract, *rest = model.layers
    x = silence_removal()(contract(audio.output))
    for layer in rest:
        x = layer(x)
    return keras.Model(audio.output, x)
