"""Parser for preprocessed recordings of DEAP (Koelstra2012). Each person has one file, which is a
pickle.

The array `data` has the shape (trials, 40 channels, samples), and the array `labels` has four
ratings per trial. The rate is 128 samples per second. Each trial begins three seconds before its
video.
"""

from __future__ import annotations

import dataclasses
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError
from tfds_builders.common.unpickle import PickledArray, unpickle

RATE_HZ = 128
BASELINE = 3 * RATE_HZ
CHANNELS = tuple(
    "Fp1 AF3 F3 F7 FC5 FC1 C3 T7 CP5 CP1 P3 P7 PO3 O1 Oz Pz "
    "Fp2 AF4 Fz F4 F8 FC6 FC2 Cz C4 T8 CP6 CP2 P4 P8 PO4 O2".split()
)
PERIPHERAL = tuple("hEOG vEOG zEMG tEMG GSR Resp Pleth Temp".split())
RATINGS = ("valence", "arousal", "dominance", "liking")
SHAPE = (40, len(CHANNELS) + len(PERIPHERAL), 8064)
_FIX = "Use the unchanged files s01.dat to s32.dat of data_preprocessed_python.zip."


@dataclasses.dataclass(frozen=True)
class Person:
    """Trials and ratings of one person.

    Attributes:
        data: Signals, shape (trials, 40, samples), float64. The first channels are `CHANNELS`, in
            microvolts. The channels `PERIPHERAL` follow.
        ratings: Ratings from 1 to 9 in the order of `RATINGS`, (trials, 4) float64.
    """

    data: np.ndarray
    ratings: np.ndarray


def parse(file: BinaryIO, *, name: str) -> Person:
    """Reads a file `s<number>.dat` without running code from the pickle.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        The trials and ratings of the person. Every value is finite, there is at least one trial,
        and trials are longer than the baseline.

    Raises:
        FormatError: If the file is damaged, or if the pickle does not have the expected contents.
    """
    content = unpickle(file.read(), name=name)
    if not isinstance(content, dict) or set(content) != {"data", "labels"}:
        expected = "a dict with the keys `data` and `labels` and no other keys"
        raise FormatError(name, "", "the pickle has another content", expected, _FIX)
    data, ratings = (_array(content[key], key, name) for key in ("data", "labels"))
    fits = data.ndim == 3 and len(data) and data.shape[1] == SHAPE[1] and data.shape[2] > BASELINE
    if not fits or ratings.shape != (len(data), len(RATINGS)):
        raise FormatError(
            name, "", f"`data` has the shape {data.shape} and `labels` the shape {ratings.shape}",
            f"the shapes (trials, {SHAPE[1]}, samples) and (trials, {len(RATINGS)})", _FIX,
        )  # fmt: skip
    if ratings.min() < 1 or ratings.max() > 9:
        received = f"the ratings are from {ratings.min():g} to {ratings.max():g}"
        raise FormatError(name, "labels", received, "ratings from 1 to 9", _FIX)
    return Person(data, ratings)


def _array(value: object, key: str, name: str) -> np.ndarray:
    if not isinstance(value, PickledArray):
        received = f"the value has the type {type(value).__name__}"
        raise FormatError(name, key, received, "a NumPy array", _FIX)
    array = value.to_numpy("f8", name=name, location=key)
    if not np.isfinite(array).all():
        received = "the array contains NaN or an infinity"
        raise FormatError(name, key, received, "finite numbers", _FIX)
    return array
