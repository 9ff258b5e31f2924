"""What the card of `voice_ge2e_sim` rests on."""

from keras_dml._backend import keras
from keras_dml.training import pooled
from zoo import voice_evidence


def evidence(trained):
    """Recordings as they are in the sets."""
    return voice_evidence.of_similarity(trained, prepare=False, others=converted)


def converted(model, signals, rows):
    """The cosine of the vectors before the trained layer."""
    audio = model.encoder.input
    vectors = keras.Model(audio, model.encoder.get_layer("embedding").output)
    what = "its cosine, without its silence trimming"
    found = voice_evidence.cosine(vectors, signals, rows)
    return {"Resemblyzer's encoder": (what, pooled.INSTEAD, found)}
