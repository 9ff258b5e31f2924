"""Data set with EEG of people who watch music videos, and their ratings of the videos (DEAP,
Koelstra2012).
"""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.archive import Source
from tfds_builders.common.builder import About, Example, Plan, RecordingsBuilder
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits
from tfds_builders.common.repeats import Contents, Repeats
from tfds_builders.common.spd import JITTER, covariance
from tfds_builders.common.splits import by_subject
from tfds_builders.deap_eeg.grouping import equal_parts
from tfds_builders.deap_eeg.signals import band_pass, moving_standardization
from tfds_builders.parsers import deap

log = logging.getLogger("tfds_builders")

FRACTIONS = {"train": 0.625, "validation": 0.125, "test": 0.25}
SUBJECTS = 32
CLASSES = (2, 3, 4, 9)
DEVICE = "BioSemi ActiveTwo"
_GET = (
    "Sign the agreement of https://www.eecs.qmul.ac.uk/mmv/datasets/deap/, and download "
    "data_preprocessed_python.zip (2.7 GB). Put the zip file into the manual folder. Then run "
    "`python -m tfds_builders.build deap_eeg --manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="deap_eeg",
    stems=("data_preprocessed_python",),
    loose=r"s\d\d\.dat",
    official="data_preprocessed_python.zip",
    get=_GET,
    limits=Limits(members=1_000, member_bytes=256 << 20, total_bytes=8 << 30),
)


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Configuration that sets the contents of a record.

    Attributes:
        covariance: Whether a record contains a covariance matrix instead of the signals.
        classes: Number of valence classes. If None, records have no label.
    """

    covariance: bool = True
    classes: int | None = None


class Person(NamedTuple):
    """A person's id, and the path of the archive member with the trials of the person."""

    subject: str
    member: str


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `deap_eeg`."""

    ABOUT = About(
        people=SUBJECTS,
        size="40 videos each, 2.7 GB",
        license="by a signed agreement, for academic research only",
        archives=WANTED,
    )
    HOMEPAGE = "https://www.eecs.qmul.ac.uk/mmv/datasets/deap/"
    SUPERVISED_KEYS = ("matrix", "label")
    BUILDER_CONFIGS = [
        Config(name="raw", description="Signals with 128 samples per second.", covariance=False),
        Config(name="cov32", description="One 32 x 32 covariance matrix for each trial."),
        *(
            Config(
                name=f"cov32_valence{classes}",
                description=f"`cov32` with labels that divide the valence into {classes} classes.",
                classes=classes,
            )
            for classes in CLASSES
        ),
    ]

    def features(self) -> dict:
        tensor, config = tfds.features.Tensor, self.builder_config
        eeg, peripheral = len(deap.CHANNELS), len(deap.PERIPHERAL)
        if config.covariance:
            signals = {"matrix": tensor(shape=(eeg, eeg), dtype=np.float64, encoding="bytes")}
        else:
            widths = {"sequence": eeg, "baseline": eeg, "peripheral": peripheral}
            signals = {
                name: tensor(shape=(None, width), dtype=np.float32, encoding="bytes")
                for name, width in widths.items()
            }
        if config.classes is not None:
            signals["label"] = tfds.features.ClassLabel(num_classes=config.classes)
        ratings = tensor(shape=(len(deap.RATINGS),), dtype=np.float32)
        return {**signals, "ratings": ratings, "video": np.int32}

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        persons = persons_of(source)
        subjects = by_subject((person.subject for person in persons), FRACTIONS)
        counts = {"people": (len(persons), SUBJECTS)}
        self.warn_of_part(source, "DEAP", counts, divided=counts)
        persons = {person.subject: person for person in persons}
        return Plan(
            {split: [persons[subject] for subject in ids] for split, ids in subjects.items()},
            functools.partial(examples_of, source=source, config=self.builder_config),
            "people",
            Repeats(source.title, "trials", "kept"),
            subjects=subjects,
            metadata={
                "channels": list(deap.CHANNELS),
                "peripheral": list(deap.PERIPHERAL),
                "ratings": list(deap.RATINGS),
                "rate_hz": deap.RATE_HZ,
            },
        )


def examples_of(
    person: Person, repeats: Repeats | Contents, source: Source, config: Config
) -> Iterator[Example]:
    """Yields the example of each trial of a person. Raises an error if two people have the same
    trial.
    """
    subject, name = person
    trials = deap.parse(source.open(name), name=name)
    if trials.data.shape != deap.SHAPE:
        log.warning(
            "%s: %s has the shape %s instead of %s, so it is not a file of the official archive.",
            source.title, name, trials.data.shape, deap.SHAPE,
        )  # fmt: skip
    for number, (trial, ratings) in enumerate(zip(trials.data, trials.ratings, strict=True), 1):
        key = f"{subject}/{number:02d}"
        repeats.add(trial, key, subject)
        yield (
            key,
            {
                **_signals(trial, ratings, config, f"{name}, trial {number}"),
                "ratings": ratings.astype(np.float32),
                "video": number,
                **people.record(subject, session=0, day=0, device=DEVICE),
            },
        )


def _signals(trial: np.ndarray, ratings: np.ndarray, config: Config, name: str) -> dict:
    """Returns the features of a trial: either the signals, or the matrix and the label. The array
    of the trial has the shape (channels, samples).
    """
    eeg = trial[: len(deap.CHANNELS)].T  # (samples, 32)
    if not config.covariance:
        return {
            "sequence": eeg[deap.BASELINE :].astype(np.float32),
            "baseline": eeg[: deap.BASELINE].astype(np.float32),
            "peripheral": trial[len(deap.CHANNELS) :, deap.BASELINE :].T.astype(np.float32),
        }
    example = {"matrix": matrix_of(eeg, name=name)}
    if config.classes is not None:
        valence = ratings[deap.RATINGS.index("valence")]
        example["label"] = int(equal_parts(valence, config.classes))
    return example


def matrix_of(eeg: np.ndarray, *, name: str) -> np.ndarray:
    """Returns the covariance matrix of a trial, computed without the baseline (Kim2020).

    The filter, the moving mean and the moving variance start at the beginning of the baseline, so
    that their initial values have little effect by the time the video begins.

    Args:
        eeg: EEG of the trial, shape (samples, 32). The baseline comes first, then the EEG during
            the video.
        name: Name of the trial, for errors.

    Returns:
        Positive definite float64 matrix of shape (32, 32), without unit.
    """
    standardized = moving_standardization(band_pass(eeg, deap.RATE_HZ), deap.BASELINE)
    return covariance(standardized[deap.BASELINE :], JITTER, name=name)


def persons_of(source: Source) -> list[Person]:
    """Returns the people of an archive, in the order of their names.

    Raises:
        ArchiveError: If the archive does not contain the file of any person, or if it contains the
            file of a person twice.
    """
    members = source.index(r"(s\d\d)\.dat")
    if not members:
        names = source.first_names
        raise ArchiveError(
            f"{source.title} holds none of the files s01.dat to s32.dat. It holds {names}. {_GET}"
        )
    return [Person(subject, member) for (subject,), member in members.items()]
