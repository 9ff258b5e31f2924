"""Trains `voice_ge2e_sim`, which compares voices with an encoder that was trained on thousands of
voices.

The encoder is Resemblyzer's encoder, which `convert.py` converts. The LSTM layers of the encoder
are not trained. A linear layer after the LSTM layers, the prototypes and the learned similarity are
trained by Algorithm 1 of Monteiro2020. The training uses vectors that the LSTM layers compute once
for windows of 1.6 s. The training uses the data sets RAVDESS (studio) and Hyke (telephone)
together. Each voice is used at three speeds, which count as three voices. The figures are measured
on the splits `validation` and `test` of both data sets, which are not used in training. Recordings
are neither trimmed nor scaled. To list the options, run `python -m zoo.voice_ge2e_sim.train --help`
from the checkout.
"""

import functools
import pathlib
from typing import Annotated

import numpy as np
import typer

from keras_dml import evaluation, inference, models
from keras_dml._backend import keras
from zoo import recipe, speech_augment, voice_classifiers, voices
from zoo.voice_ge2e_sim import encoder

STEPS, LEARNING_RATE = 250, 1e-3
SPEEDS = ("0.9", "1.1")  # in addition to the original speed
WINDOWS = 2  # of each recording in a batch
WEIGHTS = pathlib.Path("build/ge2e.weights.h5")

Weights = Annotated[
    pathlib.Path, typer.Option(help="File with Resemblyzer's weights, which convert.py writes.")
]
Table = Annotated[
    bool, typer.Option("--table", help="Cross-validate for `zoo.voice_table`, and stop.")
]


examples = functools.partial(voices.examples, prepare=False)


def known_recordings():
    """Returns the recordings of the training people."""
    return examples("train")[0]


def train(run, people):
    """Trains a classifier that takes vectors of windows."""
    keras.utils.set_random_seed(run.seed)
    sampler = voice_classifiers.batches(people, WINDOWS, run.seed)
    model = voice_classifiers.classifier(start(people), sampler.class_names)
    voice_classifiers.fit(run, model, sampler, LEARNING_RATE)
    return model


def start(people):
    """Returns the head before training. The head is computed from the voices at their original
    speed.
    """
    return encoder.new_head(encoder.by_set(people.take(own_speed(people))))


def own_speed(people):
    """Returns whether each recording has its original speed, shape `(recordings,)`."""
    return np.array(["@" not in subject for subject in people.subjects])


def of_sound(model, weights):
    """Converts a classifier of vectors to the corresponding classifier of raw audio."""
    network = encoder.network(weights, model.encoder)
    whole = voice_classifiers.classifier(network, model.class_names)
    whole.prototypes_layer.set_weights(model.prototypes_layer.get_weights())
    whole.aux_head.set_weights(model.aux_head.get_weights())
    return whole


def cross_validate(run, people):
    """Computes the scores of all trials in five folds, before training, after training, and with
    only Resemblyzer's vectors.

    Args:
        run: `recipe.Run`.
        people: `People` with vectors of windows, for all people at all speeds.
    """
    is_original = own_speed(people)
    changed = people.take(~is_original)

    def taught(fold, others):
        heard = set(others.subjects)
        teaching = others + changed.take([name.split("@")[0] in heard for name in changed.subjects])
        return train(run.part(f"fold_{fold}"), teaching), start(others)

    def compared(models, signals, rows):
        first, second = rows
        scores = voice_classifiers.scores(models[0], signals, rows)
        begun = inference.embed(models[1], signals, progress=False)
        alone = np.stack([signal.mean(axis=0) for signal in signals])
        for name, z in {"start": begun, "converted": alone}.items():
            scores[name] = evaluation.paired_cosine(z[first], z[second])
        return scores

    everybody = people.take(is_original)
    parts = voices.folds(everybody.subjects)
    scores = voices.cross_validated(everybody, parts, taught, compared)
    np.savez(run.out / voices.SCORES, **scores)


@recipe.command(STEPS)
def main(run, weights: Weights = WEIGHTS, table: Table = False):
    """Trains a model on the training people, and measures it on all other people."""
    sounds = voices.everybody()
    teaching = sounds if table else sounds.take(voices.teaches(sounds.subjects))
    teaching = speech_augment.with_speeds(teaching, SPEEDS)
    vectors = encoder.window_vectors(teaching, models.ge2e(weights))
    if table:
        return cross_validate(run, vectors)
    voice_classifiers.report(run, of_sound(train(run, vectors), weights), sounds)


if __name__ == "__main__":
    typer.run(main)
