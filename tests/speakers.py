"""Utterances of the carried Japanese Vowels set, for tests and benchmarks."""

import pathlib

import numpy as np

import keras_dml
from keras_dml import zoo

MODEL = "vowels_qp_wl"
FILE = pathlib.Path(keras_dml.__file__).parent / "cli" / "demo_data" / "japanese_vowels.npz"


def unseen():
    """Returns the utterances of speakers whom the model has not seen.

    Returns:
        `(earlier, later)`: of `ae.train` and of `ae.test`, lists of arrays `(time, 12)` by speaker.
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
