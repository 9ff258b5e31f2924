"""What the card of `voice_ge2e_sim` rests on: actors and callers whom it never heard."""

import functools

from keras_dml import evaluation, inference
from keras_dml._backend import keras
from keras_dml.training import measure, pooled
from keras_dml.training.trials import of_pairs
from zoo import speech, voice_classifiers, voices
from zoo.evidence import Evidence
from zoo.voice_logcov_lda import encoder as log_covariance


def evidence(trained):
    """All pairs of recordings of one set, by the learned similarity."""
    left, pairs = voices.of_test(voices.everybody())
    found = voice_classifiers.scores(trained.whole, left.signals, pairs[:2])
    claims = of_pairs(-found["sim"], *pairs[:2], left.subjects)
    figures = voice_classifiers.figures(found, left, pairs)
    others = functools.partial(without_training, trained.whole, left, pairs, found)
    sexes = {subject: speech.sex(subject) for subject in left.subjects}
    return Evidence(measure.Measurement(figures, claims), others, {"sex": sexes})


def without_training(model, people, pairs, found):
    """The cosine beside the similarity, Resemblyzer's encoder alone, and no network."""
    first, second = pairs[:2]

    def cosine(network):
        z = inference.embed(network, people.signals, progress=False)
        return -evaluation.paired_cosine(z[first], z[second])

    audio = model.encoder.input
    vectors = keras.Model(audio, model.encoder.get_layer("embedding").output)
    untrained = log_covariance.network(log_covariance.CEPSTRA[0])
    statistics = keras.Model(untrained.input, untrained.get_layer("statistics").output)
    return {
        "log covariance of cepstra": ("cosine", pooled.NO_NETWORK, cosine(statistics)),
        "Resemblyzer's encoder": (
            "its cosine, without its silence trimming",
            pooled.INSTEAD,
            cosine(vectors),
        ),
        "cosine": ("of the same embeddings", pooled.INSTEAD, -found["cosine"]),
        "sum": ("of similarity and cosine", pooled.INSTEAD, -found["fused"]),
    }
