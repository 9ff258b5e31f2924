"""Measures `voice_logcov_lda` and its baselines for its card."""

from keras_dml import zoo
from zoo import speech, telephone, voice_evidence, voices
from zoo.voice_ge2e_sim.evidence import converted


def evidence(trained):
    """Measures the model on the callers of Hyke, without training on them. The recordings are
    trimmed and scaled to one level.
    """
    callers = telephone.lines(prepare=True)
    pairs = voices.trials(callers, (tuple(sorted(set(callers.subjects))),))
    return voice_evidence.of_similarity(trained, speech.utterances(), callers, pairs, alternatives)


def alternatives(rows):
    """Computes the scores of Resemblyzer's encoder, which was trained on thousands of other voices,
    on the recordings as they are.

    Args:
        rows: Indices of the two recordings of each trial.
    """
    return converted(zoo.load("voice_ge2e_sim"), telephone.lines(prepare=False), rows)
