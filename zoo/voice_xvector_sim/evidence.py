"""What the card of `voice_xvector_sim` rests on."""

from zoo import voice_evidence


def evidence(trained):
    """Recordings trimmed and brought to one level."""
    return voice_evidence.of_similarity(trained, prepare=True)
