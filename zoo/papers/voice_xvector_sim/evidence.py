"""Measures `voice_xvector_sim` and its baselines. The model's card contains the results."""

from keras_dml import zoo
from keras_dml.training import pooled
from zoo import voice_classifiers, voice_evidence, voices
from zoo.voice_ge2e_sim.evidence import converted


def evidence(trained):
    """Measures the model on recordings that are trimmed and scaled to the same level. Other
    encoders get the original recordings.
    """
    every = voices.everybody(prepare=True)
    teaching = every.take(voices.teaches(every.subjects))
    return voice_evidence.of_similarity(trained, teaching, *voices.of_test(every), alternatives)


def alternatives(rows):
    """Computes the scores of `voice_ge2e_sim`, which was trained on the same voices as the model,
    and the scores of Resemblyzer's encoder.

    Args:
        rows: Indices of the two recordings in each trial.
    """
    left, _ = voices.of_test(voices.everybody(prepare=False))
    model = zoo.load("voice_ge2e_sim")
    similarity = voice_classifiers.scores(model, left.signals, rows)["sim"]
    return {
        "voice_ge2e_sim": ("the learned similarity of voice_ge2e_sim", pooled.INSTEAD, -similarity),
        **converted(model, left, rows),
    }
