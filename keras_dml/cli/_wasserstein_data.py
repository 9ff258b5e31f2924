"""Recordings of `keras-dml reproduce wasserstein`: what is read of which data set of a domain."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from keras_dml.cli import _extras

WINDOW = 512  # steps of a window of walking
EEG_BLOCKS = 2  # the first and the last half of a person's trials
DIEM_WINDOW = 810  # 27 s at 30 Hz, the fixed length of Abdelwahab2019
GAZECOM_WINDOW, GAZECOM_RATE_HZ = 1024, 250  # 4.1 s
# Our reading of how DIEM was recorded (Mital2011): 1280 x 960 pixels, 40 cm wide, from 90 cm.
SCREEN_PIXELS, SCREEN_M, DISTANCE_M = np.array([1280.0, 960.0]), 0.4, 0.9
OVERFLOW = 3000.0  # pixels; the tracker's 3270 stands for nothing
LOST = 0.5  # fraction of a recording; where more is lost, it is left out
OWN, PART, RELATIVE = (
    "the paper's own data",
    "a part of the paper's data",
    "a relative of the paper's data, with which figures do not compare",
)
ELSEWHERE = "a domain that the paper does not have"
EEG = (
    "EEG (Begleiter1999; acknowledgment asked for): trials of one second, 64 channels at 256 Hz, "
    "of one sitting."
)


@dataclasses.dataclass(frozen=True)
class DataSet:
    """A data set of a domain.

    Attributes:
        name: Name of the builder with its config.
        about: Data and license, a sentence.
        read: Function of the records that gives the arguments of
            `keras_dml.reproduce.wasserstein.recordings.recordings_of`.
        relation: How it stands to the paper's data: `OWN`, `RELATIVE` or `ELSEWHERE`.
        people: Number of people that the paper has of it; fewer are a part. None where it has none.
    """

    name: str
    about: str
    read: Callable
    relation: str
    people: int | None = None


@dataclasses.dataclass(frozen=True)
class Found:
    """What was found of a domain.

    Attributes:
        arrays: Arguments of `recordings_of`, by name.
        source: Data and license, a sentence.
        relation: How they stand to the paper's data, a few words.
        people: Number of people that the paper has of them, or None.
    """

    arrays: dict
    source: str
    relation: str
    people: int | None


def read(domain, manual_dir, data_dir=None):
    """Recordings of a domain: of the paper's data set where its archive is there, else of another.

    Args:
        domain: A key of `DOMAINS`.
        manual_dir: Folder that holds archives.
        data_dir: Where prepared data sets are kept; TFDS's own folder when None.

    Returns:
        `Found`.

    Raises:
        ImportError: If TensorFlow Datasets is not installed.
        ValueError: If no archive of the domain is there, or one is wrong.
    """
    _extras.require_data("An archive of recordings")
    from tfds_builders import reading
    from tfds_builders.common.errors import MissingArchiveError

    missing = []
    for data_set in DOMAINS[domain]:
        try:
            splits = reading.records(data_set.name, manual_dir, data_dir)
        except MissingArchiveError as error:
            missing.append(str(error))
            continue
        arrays = data_set.read([record for split in splits.values() for record in split])
        return Found(arrays, data_set.about, _relation(data_set, arrays), data_set.people)
    names = " nor ".join(one.name.partition("/")[0] for one in DOMAINS[domain])
    raise MissingArchiveError(
        f"No recordings for --domain {domain}: neither {names}. {missing[-1]}"
    )


def _relation(data_set, arrays):
    people = len(set(arrays["subjects"]))
    if data_set.people is not None and people < data_set.people:
        return f"{PART} ({people} of {data_set.people} people)"
    return data_set.relation


def _ltmm(records):
    return {
        "signals": [record["sequence"] for record in records],
        "subjects": _text(records, "subject"),
        "blocks": [int(record["day"]) for record in records],
        "rate_hz": 100,
    }


def _ipol(records):
    """Windows between the first and the last step of a trial: people stand still at both ends."""
    cut = _Windows(WINDOW)
    for record in records:
        steps = np.concatenate([record["left_steps"], record["right_steps"]])
        signal = record["sequence"][steps.min() : steps.max()]
        cut.add(record["subject"].decode(), int(record["trial"]), signal)
    return cut.arrays(100)


def _phone(records):
    cut = _Windows(WINDOW)
    for record in records:
        cut.add(record["subject"].decode(), int(record["walk"]), record["sequence"])
    return cut.arrays(50)


def _eeg(records):
    subjects, trials = np.array(_text(records, "subject")), [int(one["trial"]) for one in records]
    blocks = np.zeros(len(records), int)
    for name in set(subjects.tolist()):
        own = np.flatnonzero(subjects == name)
        order = own[np.argsort(np.array(trials)[own], kind="stable")]
        for block, rows in enumerate(np.array_split(order, EEG_BLOCKS)):
            blocks[rows] = block
    return {
        "signals": [record["sequence"] for record in records],
        "subjects": subjects,
        "blocks": blocks,
        "rate_hz": 256,
    }


def _diem(records):
    """Both eyes and pupils, and the mean of both eyes in degrees."""
    films = _numbers(_text(records, "video"))
    cut = _Windows(DIEM_WINDOW)
    for record, film in zip(records, films, strict=True):
        signal, event = record["sequence"].astype(np.float64), record["event"]
        eyes, pupils = signal[:, :4].reshape(-1, 2, 2), signal[:, 4:]
        lost = (event <= 0) | (eyes == 0).all(axis=2) | (np.abs(eyes) > OVERFLOW).any(axis=2)
        eyes, pupils = np.where(lost[..., None], np.nan, eyes), np.where(lost, np.nan, pupils)
        whole = _filled(np.concatenate([eyes.reshape(-1, 4), pupils], axis=1))
        if whole is None:
            continue
        mean = whole[:, :4].reshape(-1, 2, 2).mean(axis=1)
        scale = SCREEN_M / SCREEN_PIXELS[0] / DISTANCE_M
        gaze = np.rad2deg(np.arctan((mean - SCREEN_PIXELS / 2) * scale))
        cut.add(record["subject"].decode(), film, whole, gaze)
    return {**cut.arrays(30), "films": True}


def _gazecom(records):
    """The eye's position in degrees."""
    films = _numbers(_text(records, "movie"))
    cut = _Windows(GAZECOM_WINDOW)
    for record, film in zip(records, films, strict=True):
        size = np.array([record["width"], record["height"]], float)
        meters = np.array([record["screen_width_m"], record["screen_height_m"]], float)
        place = (record["sequence"] - size / 2) * meters / size / float(record["distance_m"])
        gaze = _filled(np.rad2deg(np.arctan(place)))
        if gaze is not None:
            cut.add(record["subject"].decode(), film, gaze, gaze)
    return {**cut.arrays(GAZECOM_RATE_HZ), "films": True}


class _Windows:
    """Windows side by side of recordings."""

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
    """The signal with straight lines where it is NaN; None where too much of it is."""
    lost = np.isnan(signal)
    if lost.mean(axis=0).max() > LOST:
        return None
    steps, whole = np.arange(len(signal)), signal.copy()
    for column, gone in zip(whole.T, lost.T, strict=True):
        column[gone] = np.interp(steps[gone], steps[~gone], column[~gone])
    return whole


def _text(records, key):
    return [record[key].decode() for record in records]


def _numbers(names):
    """The place of each name in the alphabet."""
    return np.unique(names, return_inverse=True)[1].tolist()


DOMAINS = {
    "eyes": (
        DataSet(
            "diem_gaze/all",
            "DIEM (Mital2011; CC BY-NC-SA 3.0): both eyes and pupils in films at 30 Hz, windows of "
            "27 s.",
            _diem,
            OWN,
            people=210,
        ),
        DataSet(
            "gazecom_gaze/uniform",
            "GazeCom (Dorr2010; license not stated): one eye in movies at 250 Hz, windows "
            "of 4.1 s.",
            _gazecom,
            RELATIVE,
        ),
    ),
    "gait": (
        DataSet(
            "ltmm_gait/active30",
            "LTMM (Weiss2013; ODC-By 1.0): the 30 most active minutes of three days at 100 Hz.",
            _ltmm,
            OWN,
            people=71,
        ),
        DataSet(
            "ipol_gait/left_foot",
            "Walks of the gait archive (Truong2019; CC BY-NC-SA): a sensor on the left foot at "
            "100 Hz, windows of 5.12 s, two walks of one visit a person.",
            _ipol,
            RELATIVE,
        ),
    ),
    "eeg": (
        DataSet(
            "uci_eeg/full",
            EEG,
            _eeg,
            OWN,
            people=121,
        ),
        DataSet(
            "uci_eeg/large",
            EEG,
            _eeg,
            OWN,
            people=121,
        ),
    ),
    "phone": (
        DataSet(
            "gaitauth_walks/uniform50",
            "Walks with a phone in the pocket (Hoang2015; for research only): acceleration at 50 "
            "Hz, windows of 10.24 s, one sitting a person.",
            _phone,
            ELSEWHERE,
        ),
    ),
}
