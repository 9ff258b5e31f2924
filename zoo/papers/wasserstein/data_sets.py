"""Lists the data sets of each kind of recordings, and converts their records to `Recordings`."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from keras_dml._typing import Path
from zoo.papers.records import read_records, require_packages

WINDOW = 512  # time steps of a window of walking
EEG_BLOCKS = 2  # the first and the last half of a person's trials
DIEM_WINDOW = 810  # 27 s at 30 Hz, the fixed length in Abdelwahab2019
GAZECOM_WINDOW, GAZECOM_RATE_HZ = 1024, 250  # 4.1 s
# Our interpretation of how DIEM was recorded (Mital2011): a screen with 1280 x 960 pixels and a
# width of 40 cm, seen from a distance of 90 cm.
SCREEN_PIXELS, SCREEN_M, DISTANCE_M = np.array([1280.0, 960.0]), 0.4, 0.9
OVERFLOW = 3000.0  # pixels; the tracker writes 3270 where it has no position
MAX_LOST = 0.5  # recordings in which a larger fraction is lost are left out
PAPER_DATA = "the paper's own data"
PART_OF_PAPER_DATA = "a part of the paper's data"
SIMILAR_DATA = "similar to the paper's data, but the figures cannot be compared"
OTHER_DATA = "of a kind that the paper does not use"
EEG_DESCRIPTION = (
    "The data are EEG trials (Begleiter1999, who asks for an acknowledgment). A trial has 64 "
    "channels and takes one second at 256 Hz. All trials of a person are from the same sitting."
)


@dataclasses.dataclass(frozen=True)
class DataSet:
    """A data set with recordings of a domain, such as gait.

    Attributes:
        name: Name of the builder with its config.
        description: Text that describes the data and names their license.
        arrays_of: Function that turns records into the arguments of `recordings.make_recordings`.
        relation: How the data set is related to the data of the paper: `PAPER_DATA`, `SIMILAR_DATA`
            or `OTHER_DATA`.
        people: Number of people in the paper, or None if the paper does not use this data set.
    """

    name: str
    description: str
    arrays_of: Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]]
    relation: str
    people: int | None = None


@dataclasses.dataclass(frozen=True)
class DomainData:
    """Recordings of a domain that were read from an archive.

    Attributes:
        arrays: Dictionary with the arguments of `recordings.make_recordings`.
        source: Text that describes the data and names their license.
        relation: Words that say how the data are related to the data of the paper.
        people: Number of people in the paper, or None if the paper does not use this data set.
    """

    arrays: dict[str, Any]
    source: str
    relation: str
    people: int | None


def read(domain: str, manual_dir: Path, data_dir: Path | None = None) -> DomainData:
    """Reads the recordings of a domain from the first data set whose archive is found.

    The data set of the paper is tried first.

    Args:
        domain: A key of `DATA_SETS`.
        manual_dir: Folder that holds archives.
        data_dir: Folder of prepared data sets. None: the folder of TensorFlow Datasets.

    Raises:
        ImportError: If TensorFlow Datasets is not installed.
        ValueError: If the folder contains no archive for the domain, or if an archive is wrong.
    """
    require_packages()
    from tfds_builders.common.errors import MissingArchiveError

    for data_set in DATA_SETS[domain]:
        try:
            records = read_records(data_set.name, manual_dir, data_dir)
        except MissingArchiveError as error:
            last_error = error
            continue
        arrays = data_set.arrays_of(records)
        relation = _relation(data_set, arrays)
        return DomainData(arrays, data_set.description, relation, data_set.people)
    names = " nor ".join(data_set.name.partition("/")[0] for data_set in DATA_SETS[domain])
    raise MissingArchiveError(
        f"The folder contains no recordings for --domain {domain}, neither {names}. {last_error}"
    )


def _relation(data_set, arrays):
    people = len(set(arrays["subjects"]))
    if data_set.people is not None and people < data_set.people:
        return f"{PART_OF_PAPER_DATA} ({people} of {data_set.people} people)"
    return data_set.relation


def ltmm_arrays(records):
    """Returns the arrays of LTMM, recordings of everyday life. Each day is a block."""
    return {
        "signals": [record["sequence"] for record in records],
        "subjects": _texts(records, "subject"),
        "blocks": [int(record["day"]) for record in records],
        "rate_hz": 100,
    }


def ipol_arrays(records):
    """Returns windows of walks between the first and the last step. Parts in which the person
    stands still before and after are removed.
    """
    windows = _Windows(WINDOW)
    for record in records:
        steps = np.concatenate([record["left_steps"], record["right_steps"]])
        signal = record["sequence"][steps.min() : steps.max()]
        windows.add(record["subject"].decode(), int(record["trial"]), signal)
    return windows.arrays(100)


def phone_arrays(records):
    """Returns windows of walks that a phone in the pocket recorded. Each walk is a block."""
    windows = _Windows(WINDOW)
    for record in records:
        windows.add(record["subject"].decode(), int(record["walk"]), record["sequence"])
    return windows.arrays(50)


def eeg_arrays(records):
    """Returns EEG trials. The first half of a person's trials is one block, and the last half is
    another block.
    """
    subjects = np.array(_texts(records, "subject"))
    trials = np.array([int(record["trial"]) for record in records])
    blocks = np.zeros(len(records), int)
    for name in set(subjects.tolist()):
        rows = np.flatnonzero(subjects == name)
        order = rows[np.argsort(trials[rows], kind="stable")]
        for block, rows_of_block in enumerate(np.array_split(order, EEG_BLOCKS)):
            blocks[rows_of_block] = block
    return {
        "signals": [record["sequence"] for record in records],
        "subjects": subjects,
        "blocks": blocks,
        "rate_hz": 256,
    }


def diem_arrays(records):
    """Returns windows with the positions and the pupils of both eyes. The gaze is the mean position
    of the two eyes in degrees.
    """
    films = _ranks(_texts(records, "video"))
    windows = _Windows(DIEM_WINDOW)
    for record, film in zip(records, films, strict=True):
        signal, event = record["sequence"].astype(np.float64), record["event"]
        eyes, pupils = signal[:, :4].reshape(-1, 2, 2), signal[:, 4:]
        lost = (event <= 0) | (eyes == 0).all(axis=2) | (np.abs(eyes) > OVERFLOW).any(axis=2)
        eyes, pupils = np.where(lost[..., None], np.nan, eyes), np.where(lost, np.nan, pupils)
        filled = _filled(np.concatenate([eyes.reshape(-1, 4), pupils], axis=1))
        if filled is None:
            continue
        mean = filled[:, :4].reshape(-1, 2, 2).mean(axis=1)
        scale = SCREEN_M / SCREEN_PIXELS[0] / DISTANCE_M
        gaze = np.rad2deg(np.arctan((mean - SCREEN_PIXELS / 2) * scale))
        windows.add(record["subject"].decode(), film, filled, gaze)
    return {**windows.arrays(30), "films": True}


def gazecom_arrays(records):
    """Returns windows with the position of one eye in degrees."""
    films = _ranks(_texts(records, "movie"))
    windows = _Windows(GAZECOM_WINDOW)
    for record, film in zip(records, films, strict=True):
        size = np.array([record["width"], record["height"]], float)
        meters = np.array([record["screen_width_m"], record["screen_height_m"]], float)
        position = (record["sequence"] - size / 2) * meters / size / float(record["distance_m"])
        gaze = _filled(np.rad2deg(np.arctan(position)))
        if gaze is not None:
            windows.add(record["subject"].decode(), film, gaze, gaze)
    return {**windows.arrays(GAZECOM_RATE_HZ), "films": True}


class _Windows:
    """Cuts recordings into adjacent windows and collects the windows."""

    def __init__(self, length):
        self.length, self.gaze = length, []
        self.signals, self.subjects, self.blocks = [], [], []

    def add(self, subject, block, signal, gaze=None):
        for start in range(0, len(signal) - self.length + 1, self.length):
            window = slice(start, start + self.length)
            self.signals.append(signal[window])
            self.subjects.append(subject)
            self.blocks.append(block)
            if gaze is not None:
                self.gaze.append(gaze[window])

    def arrays(self, rate_hz):
        return {
            "signals": self.signals,
            "subjects": self.subjects,
            "blocks": self.blocks,
            "rate_hz": rate_hz,
            "gaze": self.gaze or None,
        }


def _filled(signal):
    """Replaces NaN in a signal by linear interpolation. Returns None if too many values are NaN."""
    lost = np.isnan(signal)
    if lost.mean(axis=0).max() > MAX_LOST:
        return None
    steps, filled = np.arange(len(signal)), signal.copy()
    for column, is_lost in zip(filled.T, lost.T, strict=True):
        column[is_lost] = np.interp(steps[is_lost], steps[~is_lost], column[~is_lost])
    return filled


def _texts(records, key):
    return [record[key].decode() for record in records]


def _ranks(names):
    """Returns the alphabetical rank of each name."""
    return np.unique(names, return_inverse=True)[1].tolist()


DATA_SETS = {
    "eyes": (
        DataSet(
            "diem_gaze/all",
            "The data are DIEM (Mital2011; CC BY-NC-SA 3.0), positions and pupils of both eyes "
            "during films at 30 Hz, in windows of 27 s.",
            diem_arrays,
            PAPER_DATA,
            people=210,
        ),
        DataSet(
            "gazecom_gaze/uniform",
            "The data are GazeCom (Dorr2010; no license is stated), positions of one eye during "
            "movies at 250 Hz, in windows of 4.1 s.",
            gazecom_arrays,
            SIMILAR_DATA,
        ),
    ),
    "gait": (
        DataSet(
            "ltmm_gait/active30",
            "The data are LTMM (Weiss2013; ODC-By 1.0), the 30 most active minutes of three days "
            "at 100 Hz.",
            ltmm_arrays,
            PAPER_DATA,
            people=71,
        ),
        DataSet(
            "ipol_gait/left_foot",
            "The data are walks of the gait archive (Truong2019; CC BY-NC-SA), recorded by a "
            "sensor on the left foot at 100 Hz, in windows of 5.12 s. Each person made two walks "
            "in one visit.",
            ipol_arrays,
            SIMILAR_DATA,
        ),
    ),
    "eeg": (
        DataSet("uci_eeg/full", EEG_DESCRIPTION, eeg_arrays, PAPER_DATA, people=121),
        DataSet("uci_eeg/large", EEG_DESCRIPTION, eeg_arrays, PAPER_DATA, people=121),
    ),
    "phone": (
        DataSet(
            "gaitauth_walks/uniform50",
            "The data are accelerations of a phone in the pocket during walks (Hoang2015; for "
            "research only) at 50 Hz, in windows of 10.24 s. All walks of a person are from the "
            "same sitting.",
            phone_arrays,
            OTHER_DATA,
        ),
    ),
}
