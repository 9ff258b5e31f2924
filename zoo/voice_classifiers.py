"""Functions that are shared by all recipes for prototypical classifiers of voices."""

import numpy as np

from keras_dml import evaluation, inference, layers
from keras_dml._backend import keras
from keras_dml.losses import PrototypicalLoss
from keras_dml.models import PrototypicalClassifier
from keras_dml.samplers import PKSampler
from keras_dml.training.golden import synthetic_recordings
from zoo import calibration, classifiers, speech, speech_augment, voices

GAIN = 10.0  # of the squared distance as which a similarity begins
SPEAKERS, PER_SPEAKER = 12, 3  # in a batch
SMOOTHING = 0.1  # of labels
AT_ONCE = 3  # recordings that are embedded: the longest have 39 s, and 32 of them take 3 GB


def classifier(encoder, names):
    """Creates an untrained classifier of voices. The learned similarity is initialized as a
    constant minus the squared distance.

    Args:
        encoder: A built encoder.
        names: Names of the voices.
    """
    model = PrototypicalClassifier(
        encoder,
        len(names),
        hidden=(classifiers.PIECES * encoder.output_shape[-1],),
        symmetry="absdiff",
        normalize=True,
        aux="am",
        class_names=names,
    )
    classifiers.begin_as_squares(model.prototypes_layer.similarity, GAIN)
    return model


def with_silence_removal(model):
    """Returns a trained classifier with an additional first layer that removes silence from
    recordings.

    Args:
        model: A classifier of audio. The encoder must be a chain of layers that begins with an
            `InputContract`.
    """
    contract, *rest = model.encoder.layers[1:]
    least = contract.contract.min_steps
    audio = keras.Input((None, 1), name="audio")
    x = layers.SilenceRemoval(speech.RATE_HZ, least=least, name="silence")(contract(audio))
    for layer in rest:
        x = layer(x)
    whole = classifier(keras.Model(audio, x, name=model.encoder.name), model.class_names)
    whole.set_weights(model.get_weights())
    return whole


def without_silence_removal(model):
    """Returns a published classifier without the layer that removes silence.

    `zoo.voice_table` needs this classifier, because the table compares networks on recordings that
    contain silence.
    """
    audio, *rest = model.encoder.layers
    x = audio.output
    for layer in rest:
        x = x if isinstance(layer, layers.SilenceRemoval) else layer(x)
    whole = classifier(keras.Model(audio.output, x, name=model.encoder.name), model.class_names)
    whole.set_weights(model.get_weights())
    return whole


def batches(people, length, seed, augment=None):
    """Creates batches that contain several voices and several crops of each voice.

    Args:
        people: `People`. Recordings that are too short are joined with other recordings of the same
            voice.
        length: Number of time steps of a crop.
        seed: Seed of the random draws.
        augment: See `keras_dml.samplers`.
    """
    longer = speech_augment.joined(people, length)
    return PKSampler(
        longer.signals,
        longer.subjects,
        SPEAKERS,
        PER_SPEAKER,
        steps=classifiers.STEPS_PER_EPOCH,
        length=length,
        sessions=longer.sessions,
        augment=augment,
        seed=seed,
    )


def fit(run, model, sampler, learning_rate):
    """Trains a classifier with Algorithm 1 of Monteiro2020. The loss has class, pair and auxiliary
    terms.
    """
    loss = PrototypicalLoss(label_smoothing=SMOOTHING)
    run.fit(model, sampler, classifiers.optimization(learning_rate), loss=loss)


def scores(model, signals, rows):
    """Computes three scores of trials, the similarity, the cosine and their sum. Returns a
    dictionary from names to arrays of shape `(trials,)`.

    Args:
        model: A classifier.
        signals: Recordings in the form that the encoder takes.
        rows: Indices of the two recordings in each trial.
    """
    first, second = rows
    z = inference.embed(model, signals, AT_ONCE, progress=False)
    similarity = np.asarray(model.similarity(z, z))[first, second]
    cosine = evaluation.paired_cosine(z[first], z[second])
    return {"sim": similarity, "cosine": cosine, "fused": evaluation.fuse(similarity, cosine)}


def report(run, model, every, curves=None):
    """Measures a classifier on the test people, and publishes it if requested.

    Args:
        run: `recipe.Run`.
        model: The classifier, which takes raw audio.
        every: `People` from both data sets, with recordings in the form that the model takes.
        curves: See `recipe.Run.publish`.
    """
    left, pairs = voices.of_test(every)
    rows = run.keep(figures(scores(model, left.signals, pairs[:2]), left, pairs))
    if run.publishes:
        run.publish(
            model,
            synthetic_recordings(1, (2 * speech.RATE_HZ, speech.RATE_HZ), 0.05),
            rows,
            curves=curves,
            recordings=every.take(voices.teaches(every.subjects)).signals,
            data={
                "train_subjects": sorted(set(every.subjects) - set(left.subjects)),
                "test_subjects": sorted(set(left.subjects)),
            },
        )


def figures(scores, people, pairs):
    """Computes rows of a card with the error rates of trials in the studio and of trials over the
    telephone.

    Args:
        scores: Dictionary from names to similarities of the trials.
        people: `People` with the recordings that the trials compare.
        pairs: Output of `voices.trials`.
    """
    first, second, genuine, _ = pairs
    subjects, rows = np.asarray(people.subjects), []
    far = voices.is_telephone(subjects)[first]
    for domain, mask in (("studio", ~far), ("telephone", far)):
        domain_scores = {name: values[mask] for name, values in scores.items()}
        claims = subjects[first[mask]], subjects[second[mask]]
        domain_rows = calibration.rows(domain_scores, genuine[mask], claims)
        rows += [row | {"domain": domain} for row in domain_rows]
    return rows
