"""Trains `voice_xvector_sim`, which decides from two seconds of raw audio whether two recordings
contain the same voice.

The encoder is a time-delay network with statistics pooling (Snyder2018). The layers have a quarter
of the published width. The model is trained end to end from random weights by Algorithm 1 of
Monteiro2020, with class, pair and auxiliary terms. The training uses the data sets RAVDESS (studio)
and Hyke (telephone) together, with simulated rooms, noise and telephones. Each voice is used at
five speeds, which count as five voices. The figures are measured on the splits `validation` and
`test` of both data sets, which are not used in training. To list the options, run
`python -m zoo.papers.voice_xvector_sim.train --help` from the checkout.
"""

import functools
from typing import Annotated

import numpy as np
import typer

from keras_dml import models
from keras_dml._backend import keras
from zoo import recipe, speech, speech_augment, voice_classifiers, voices

STEPS, LEARNING_RATE = 2_000, 2e-3
FRAME_LAYERS = ((128, 5, 1), (128, 3, 2), (128, 3, 3), (128, 1, 1), (375, 1, 1))
EMBEDDING, BANDS = 64, 40
CROP = 2 * speech.RATE_HZ
DISTANT = 0.3  # fraction of rows over a telephone

Table = Annotated[
    bool, typer.Option("--table", help="Cross-validate for `zoo.voice_table`, and stop.")
]


examples = functools.partial(voices.examples, prepare=True)


def known_recordings():
    """Returns the recordings of the training people."""
    return examples("train")[0]


def train(run, people):
    """Trains a classifier on the voices of the given people."""
    keras.utils.set_random_seed(run.seed)
    disturb = speech_augment.Disturb(voice_classifiers.PER_SPEAKER, distant=DISTANT)
    every_speed = speech_augment.with_speeds(people)
    sampler = voice_classifiers.batches(every_speed, CROP, run.seed, disturb)
    encoder = models.xvector(FRAME_LAYERS, embedding=EMBEDDING, bands=BANDS, padding="same")
    contract = recipe.input_contract(recipe.about_model("voice_xvector_sim")["input"])
    encoder = models.with_contract(encoder, contract)
    model = voice_classifiers.classifier(encoder, sampler.class_names)
    voice_classifiers.fit(run, model, sampler, LEARNING_RATE)
    return model


def cross_validate(run, people):
    """Computes the scores of all trials in five folds."""
    scores = voices.cross_validated(
        people,
        voices.folds(people.subjects),
        lambda fold, others: train(run.part(f"fold_{fold}"), others),
        voice_classifiers.scores,
    )
    np.savez(run.out / voices.SCORES, **scores)


@recipe.command(STEPS)
def main(run, table: Table = False):
    """Trains a model on the training people, and measures it on all other people."""
    every = voices.everybody(prepare=True)
    if table:
        return cross_validate(run, every)
    model = train(run, every.take(voices.teaches(every.subjects)))
    voice_classifiers.report(run, voice_classifiers.with_silence_removal(model), every)


if __name__ == "__main__":
    typer.run(main)
