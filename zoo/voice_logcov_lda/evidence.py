"""What the card of `voice_logcov_lda` rests on."""

from keras_dml import zoo
from keras_dml.training import pooled
from zoo import telephone, voice_evidence, voices
from zoo.voice_ge2e_sim.evidence import vectors


def evidence(trained):
    """The callers of Hyke, whom the file never heard, trimmed and brought to one level."""
    callers = telephone.lines(prepare=True)
    pairs = voices.trials(callers, (tuple(sorted(set(callers.subjects))),))
    return voice_evidence.of_similarity(trained, callers, pairs, converted)


def converted(_, signals, rows):
    """The cosine of an encoder that has heard thousands of voices, none of these."""
    encoder = vectors(zoo.load("voice_ge2e_sim"))
    what = "its cosine, without its silence trimming"
    found = voice_evidence.cosine(encoder, signals, rows)
    return {"Resemblyzer's encoder": (what, pooled.INSTEAD, found)}
