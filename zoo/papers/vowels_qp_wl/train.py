"""Trains `vowels_qp_wl`, which recognizes speakers by the frames of one vowel.

The data set Japanese Vowels contains nine speakers. The model is trained on five of the speakers
and measured on the other four speakers. To list the options, run
`python -m zoo.papers.vowels_qp_wl.train --help` from the checkout.
"""

import numpy as np
import typer

from keras_dml.training import People
from keras_dml.training.golden import synthetic_recordings
from zoo import augment, people, recipe, sequences

TRAIN_SPEAKERS = ("1", "2", "3", "4", "5")
PARTS = {"train": 1, "test": 2}  # ae.train was recorded before ae.test
CROP = 10  # frames; the shortest utterances have 7
PAIRS = 5
STEPS = 600
MIX, TOGETHER, NOISE = 0.4, 0.3, 0.05


def utterances():
    """Reads all utterances. The session of an utterance is the part of the data set that contains
    it.
    """
    result = People([], [], [])
    for part, records in people.read("japanese_vowels_lpc").items():
        result += people.collect(records, lambda record, part=part: PARTS[part])
    return result


def training_utterances():
    """Returns the utterances of the training speakers."""
    return utterances().select(TRAIN_SPEAKERS).at_least(CROP, 2)


def known_recordings():
    """Returns the signals of `training_utterances`."""
    return training_utterances().signals


def vary(batch, rng):
    """Simulates new speakers by mixing the channels at random, in the same way for the two
    recordings of a pair. Also adds noise.
    """
    stddev = batch.std(axis=(0, 1))
    return augment.add_noise(augment.mix_channels(batch, rng, MIX, TOGETHER), rng, NOISE * stddev)


@recipe.command(STEPS)
def main(run, method: sequences.Method = "qp_wl"):
    """Trains a model on five speakers, and measures it on the other four speakers with two
    protocols.
    """
    taught = training_utterances()
    batches = {"pairs": PAIRS, "length": CROP, "augment": vary}
    encoder = sequences.train(run, method, taught, batches=batches, halvings=0)
    test = utterances().without(TRAIN_SPEAKERS)
    measured = sequences.evaluate(run, encoder, test)
    if run.publishes and method == "qp_wl":
        stddev = np.concatenate(taught.signals).std(axis=0)
        run.publish(
            encoder,
            synthetic_recordings(len(stddev), (29, 12, 4), stddev),
            measured,
            data={"test_subjects": sorted(set(test.subjects))},
            recordings=taught.signals,
        )


if __name__ == "__main__":
    typer.run(main)
