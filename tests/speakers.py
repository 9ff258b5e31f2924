"""Utterances from the Japanese Vowels data set in this repository, for tests and benchmarks."""

import pathlib

import numpy as np

import keras_dml
from keras_dml import zoo

MODEL = "vowels_qp_wl"
FILE = pathlib.Path(keras_dml.__file__).parent / "cli" / "demo_data" / "japanese_vowels.npz"


def unseen():
    """Returns the utterances of speakers who were not used in training.

    Returns:
        `(earlier, later)`: the utterances in `ae.train` and in `ae.test`. `earlier` and `later` are
        dicts from a speaker to the list of the speaker's utterances, arrays of shape `(time, 12)`.
    """
    with np.load(FILE) as data:
        utterances = np.split(data["frames"], np.cumsum(data["lengths"])[:-1])
        speakers, parts = data["speakers"].astype(str), data["parts"]
    names = sorted(set(speakers.tolist()) - set(zoo.card(MODEL)["data"]["train_subjects"]))
    return tuple(
        {
            name: [utterances[i] for i in np.flatnonzero((speakers == name) & (parts == part))]
            for name in names
        }
        for part in ("train", "test")
    )
