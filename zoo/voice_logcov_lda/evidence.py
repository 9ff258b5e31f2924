"""Measures `voice_logcov_lda` and its baselines. The model's card contains the results."""

from keras_dml import zoo
from zoo import speech, telephone, voice_evidence, voices
from zoo.voice_ge2e_sim.evidence import converted


def evidence(trained):
    """Measures the model on the callers of Hyke, who are not used in training. The recordings are
    trimmed and scaled to the same level.
    """
    callers = telephone.lines(prepare=True)
    pairs = voices.trials(callers, (tuple(sorted(set(callers.subjects))),))
    return voice_evidence.of_similarity(trained, speech.utterances(), callers, pairs, alternatives)


def alternatives(rows):
    """Computes the scores of Resemblyzer's encoder, which was trained on thousands of other voices.
    The recordings for Resemblyzer's encoder are neither trimmed nor scaled.

    Args:
        rows: Indices of the two recordings in each trial.
    """
    return converted(zoo.load("voice_ge2e_sim"), telephone.lines(prepare=False), rows)
