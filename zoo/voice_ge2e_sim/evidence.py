"""What the card of `voice_ge2e_sim` rests on."""

from keras_dml._backend import keras
from keras_dml.training import pooled
from zoo import voice_evidence, voices


def evidence(trained):
    """Recordings as they are in the sets."""
    left, pairs = voices.of_test(voices.everybody(prepare=False))
    return voice_evidence.of_similarity(trained, left, pairs, others=converted)


def converted(model, signals, rows):
    """The cosine of the vectors before the trained layer."""
    what = "its cosine, without its silence trimming"
    found = voice_evidence.cosine(vectors(model), signals, rows)
    return {"Resemblyzer's encoder": (what, pooled.INSTEAD, found)}


def vectors(model):
    """The encoder of a classifier up to Resemblyzer's vectors."""
    audio, *before, _ = model.encoder.layers
    x = audio.output
    for layer in before:
        x = layer(x)
    return keras.Model(audio.output, x)
