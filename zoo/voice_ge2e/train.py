"""Publishes `voice_ge2e`, which is Resemblyzer's voice encoder with unchanged weights.

`python -m zoo.voice_ge2e_sim.convert` converts the weights. The recipe trains nothing. It measures
the cosine on the trials of `voice_ge2e_sim`. Resemblyzer's silence trimming is left out. To list
the options, run `python -m zoo.voice_ge2e.train --help` from the checkout.
"""

import functools

import numpy as np
import typer

from keras_dml import models
from keras_dml._backend import keras
from keras_dml.training.golden import synthetic_recordings
from zoo import calibration, recipe, speech, voice_evidence, voices
from zoo.voice_ge2e_sim.train import WEIGHTS, Weights

examples = functools.partial(voices.examples, prepare=False)


def known_recordings():
    """Returns recordings of people who are not in the test. They determine the quality gate."""
    return examples("train")[0]


def network(weights=None):
    """Builds the model, which takes raw audio.

    Args:
        weights: Path of the converted weights. None: the weights are random.
    """
    audio = keras.Input((None, 1), name="audio")
    x = recipe.input_contract(recipe.about_model("voice_ge2e")["input"])(audio)
    for layer in models.ge2e(weights).layers[1:]:
        x = layer(x)
    return keras.Model(audio, x, name="voice_ge2e")


def figures(model, people, pairs):
    """Computes rows of a card with the error rates of trials in the studio and of trials over the
    telephone.

    Args:
        model: The model.
        people: `People` with the recordings that the trials compare.
        pairs: Output of `voices.trials`.
    """
    first, second, genuine, _ = pairs
    similarities = -voice_evidence.cosine(model, people.signals, (first, second))
    subjects, rows = np.asarray(people.subjects), []
    is_telephone = voices.is_telephone(subjects)[first]
    for domain, mask in (("studio", ~is_telephone), ("telephone", is_telephone)):
        claims = subjects[first[mask]], subjects[second[mask]]
        measured = calibration.rows({"cosine": similarities[mask]}, genuine[mask], claims)
        rows += [row | {"domain": domain} for row in measured]
    return rows


@recipe.command(steps=0)
def main(run, weights: Weights = WEIGHTS):
    """Measures the encoder on the test people, and publishes it if requested."""
    model, every = network(weights), voices.everybody(prepare=False)
    left, pairs = voices.of_test(every)
    rows = run.keep(figures(model, left, pairs))
    if run.publishes:
        run.publish(
            model,
            synthetic_recordings(1, (2 * speech.RATE_HZ, speech.RATE_HZ), 0.05),
            rows,
            curves=None,
            recordings=known_recordings(),
            data={"train_subjects": [], "test_subjects": sorted(set(left.subjects))},
        )


if __name__ == "__main__":
    typer.run(main)
