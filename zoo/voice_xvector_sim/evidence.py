"""What the card of `voice_xvector_sim` rests on."""

from zoo import voice_evidence, voices
from zoo.voice_logcov_lda.evidence import converted


def evidence(trained):
    """Recordings trimmed and brought to one level."""
    left, pairs = voices.of_test(voices.everybody(prepare=True))
    return voice_evidence.of_similarity(trained, left, pairs, converted)
