"""Trains `vowels_qp_wl`: who is speaking, from the frames of one vowel.

Trained on five of the nine speakers of the Japanese Vowels set, measured on the other four. From
the checkout: `python -m zoo.vowels_qp_wl.train --help`.
"""

import pathlib

import numpy as np
import typer

from zoo import augment, evaluate, people, publish, recipe

NAME = "vowels_qp_wl"
CHANNELS = [f"LPC cepstrum {i}" for i in range(1, 13)]
RATE_HZ = 156.25  # a frame every 6.4 ms
TRAIN_SPEAKERS = ("1", "2", "3", "4", "5")
PARTS = {"train": 1, "test": 2}  # ae.train was recorded before ae.test
CROP = 10  # frames; the shortest utterances have 7
PAIRS = 5
STEPS = 600
MIX, TOGETHER, NOISE = 0.4, 0.3, 0.05


def utterances():
    """All utterances; the part of the data set is the session."""
    found = people.People([], [], [])
    for part, records in people.read("japanese_vowels_lpc").items():
        for record in records:
            found.signals.append(np.array(record["sequence"]))
            found.subjects.append(record["subject"].decode())
            found.sessions.append(PARTS[part])
    return found


def vary(batch, rng):
    """New speakers from few: every pair hears the world through a filter bank of its own."""
    stddev = batch.std(axis=(0, 1))
    return augment.add_noise(augment.mix_channels(batch, rng, MIX, TOGETHER), rng, NOISE * stddev)


def card(figures, thresholds, test_subjects, seed, steps, minutes):
    """Card of the model; what `publish` measures from the file is left out."""
    return {
        "name": NAME,
        "task": "Tell speakers apart by one vowel: the small model of the demo",
        "paper": "Abdelwahab2019, Eqs. 2, 9, 13 (arXiv 1912.01933)",
        "input": {
            "channels": CHANNELS,
            "units": ["1"] * len(CHANNELS),
            "rate_hz": RATE_HZ,
            "dtype": "float32",
            "length": [4, None],
        },
        "data": {
            "builder": "japanese_vowels_lpc",
            "licence": "CC BY 4.0 by UCI's present terms (doi:10.24432/C5NS47), which let the "
            "weights be used freely with the source named.",
            "citation": "M. Kudo, J. Toyama, M. Shimbo, Multidimensional curve classification "
            "using passing-through regions, Pattern Recognition Letters 20(11-13) (1999) "
            "1103-1111",
            "train_subjects": list(TRAIN_SPEAKERS),
            "test_subjects": test_subjects,
            "consent": "Published research recordings without names. Enroll only speakers who have "
            "agreed to it.",
        },
        "figures": figures,
        "figures_are": "The table: the protocol of Abdelwahab2019, n observed recordings a "
        "person and repetition. The pictures: `keras-dml demo`, every utterance of ae.test, each "
        "of the four people in turn as the imposter.",
        "thresholds": thresholds,
        "limits": [
            "Nine male speakers, one vowel pair (/ae/), 10 kHz speech from 1999: a "
            "demonstration, not a speaker recognizer.",
            "Four test speakers: the figures say little about other people.",
            "Both parts of the data set may be from one recording session.",
        ],
        "recipe": publish.recipe_of(NAME, seed=seed, steps=steps, minutes=minutes),
    }


def main(
    method: recipe.Method = "qp_wl",
    steps: recipe.Steps = STEPS,
    seed: recipe.Seed = 0,
    out: recipe.Out = None,
    resume: recipe.Resume = False,
    publish_model: recipe.Publish = False,
):
    """Trains on five speakers, measures the other four by both protocols."""
    out = recipe.out_folder(out, NAME, method, seed)
    every = utterances()
    known = every.of(TRAIN_SPEAKERS).at_least(CROP, 2)
    encoder, minutes = recipe.train(
        method,
        known,
        vary,
        pairs=PAIRS,
        length=CROP,
        steps=steps,
        seed=seed,
        out=out,
        resume=resume,
        halvings=0,
    )
    unseen = sorted(set(every.subjects) - set(TRAIN_SPEAKERS))
    test = every.of(unseen)
    distances, figures = recipe.measure(encoder, test, out)
    if publish_model and method == "qp_wl":
        publish.publish(
            pathlib.Path(__file__).parent,
            encoder,
            card(
                figures,
                evaluate.thresholds(*evaluate.every_probe(distances, test.subjects, test.sessions)),
                unseen,
                seed,
                steps,
                minutes,
            ),
            evaluate.synthetic_recordings(
                len(CHANNELS), (29, 12, 4), np.concatenate(known.signals).std(axis=0)
            ),
            curves=out / f"{recipe.CURVES}.png",
        )


if __name__ == "__main__":
    typer.run(main)
