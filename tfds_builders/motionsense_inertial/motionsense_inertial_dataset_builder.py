"""Data set with six activities of 24 people who carry a phone in the front pocket (MotionSense,
Malekzadeh2019).
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import math
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.archive import Source
from tfds_builders.common.builder import About, Example, Plan, RecordingsBuilder, divided
from tfds_builders.common.errors import ArchiveError, quoted
from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Repeats
from tfds_builders.common.splits import by_subject
from tfds_builders.motionsense_inertial.table import NAME as TABLE
from tfds_builders.motionsense_inertial.table import table_beside
from tfds_builders.parsers import motionsense

log = logging.getLogger("tfds_builders")

SUBJECTS = 24
FRACTIONS = {"train": 14 / 24, "validation": 4 / 24, "test": 6 / 24}
TRIALS = {
    "dws": (1, 2, 11), "ups": (3, 4, 12), "wlk": (7, 8, 15), "jog": (9, 16), "sit": (5, 13),
    "std": (6, 14),
}  # fmt: skip
ALL_TRIALS = SUBJECTS * sum(map(len, TRIALS.values()))
WALKS = ("wlk", "ups", "dws")
WALK_CHANNELS = tuple(
    f"{signal}.{axis}" for signal in ("userAcceleration", "rotationRate") for axis in "xyz"
)
DEVICE = "iPhone 6s"
_MEMBER = r"(?:.*/)?([a-z]+)_(\d+)/sub_(\d+)\.csv"
_GET = (
    "Get A_DeviceMotion_data.zip (about 60 MB) and data_subjects_info.csv from the folder "
    "data of https://github.com/mmalekzadeh/motion-sense. Put the two files into the manual "
    "folder. Then run `python -m tfds_builders.build motionsense_inertial --manual-dir "
    "FOLDER`."
)
WANTED = Wanted(
    dataset="motionsense_inertial",
    stems=("A_DeviceMotion_data",),
    loose=rf"({'|'.join(TRIALS)})_\d+",
    official="A_DeviceMotion_data.zip",
    get=_GET,
    limits=Limits(members=5_000, member_bytes=16 << 20, total_bytes=2 << 30),
)


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Configuration that sets the trials and channels of the records.

    Attributes:
        activities: Activities whose trials the builder reads, as keys of `TRIALS`.
        channels: Channels of a record, in this order. Each channel is an element of
            `motionsense.CHANNELS`.
    """

    activities: tuple[str, ...] = tuple(TRIALS)
    channels: tuple[str, ...] = motionsense.CHANNELS


class Recording(NamedTuple):
    """One trial, described by the parts of its file name and the path of the file in the
    archive.
    """

    number: int  # number of the person
    activity: str
    trial: int
    member: str

    @property
    def key(self) -> str:
        return f"{self.subject}/{self.activity}_{self.trial}"

    @property
    def subject(self) -> str:
        return str(self.number)


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `motionsense_inertial`."""

    ABOUT = About(
        people=SUBJECTS, size=f"{ALL_TRIALS} trials", license="not stated", archives=WANTED
    )
    HOMEPAGE = "https://github.com/mmalekzadeh/motion-sense"
    ARCHIVE_KEY = "trials"
    SUPERVISED_KEYS = ("sequence", "label")
    BUILDER_CONFIGS = [
        Config(name="trials", description="All trials, with the 12 channels of the files."),
        Config(
            name="walk6",
            description="Acceleration and rotation rate of people who walk on level ground, "
            "upstairs and downstairs.",
            activities=WALKS,
            channels=WALK_CHANNELS,
        ),
    ]

    def features(self) -> dict:
        channels = len(self.builder_config.channels)
        return {
            "sequence": tfds.features.Tensor(shape=(None, channels), dtype=np.float32),
            "label": tfds.features.ClassLabel(names=list(TRIALS)),
            "trial": np.int32,
            "weight": np.float32,
            "height": np.float32,
            "age": np.float32,
            "sex": tfds.features.Text(),
        }

    def sources(self, manual_dir: str | os.PathLike) -> dict[str, Source]:
        """Finds the archive, and the table of the people if the table is in the same folder as the
        archive.
        """
        sources = super().sources(manual_dir)
        table = table_beside(sources[self.ARCHIVE_KEY])
        return sources | ({"people": table} if table else {})

    def plan(self, sources: dict[str, Source]) -> Plan:
        source, config = sources[self.ARCHIVE_KEY], self.builder_config
        recordings = recordings_of(source)
        persons = persons_of(sources)
        subjects = by_subject((recording.subject for recording in recordings), FRACTIONS)
        counts = {
            "trials": (len(recordings), ALL_TRIALS),
            "people": (sum(map(len, subjects.values())), SUBJECTS),
        }
        self.warn_of_part(source, "MotionSense", counts, divided=["people"])
        return Plan(
            divided((r for r in recordings if r.activity in config.activities), subjects),
            functools.partial(
                examples_of, source=source, persons=persons, channels=config.channels
            ),
            "trials",
            subjects=subjects,
            metadata={
                "same_as": repeated(source, recordings),
                "channels": list(config.channels),
                "rate_hz": motionsense.RATE_HZ,
            },
        )


def examples_of(
    recording: Recording,
    _: object,
    source: Source,
    persons: dict[int, motionsense.Person],
    channels: tuple[str, ...],
) -> Iterator[Example]:
    """Yields the example of a trial."""
    columns = [motionsense.CHANNELS.index(name) for name in channels]
    trial = motionsense.parse(source.open(recording.member), name=recording.member)
    yield (
        recording.key,
        {
            "sequence": np.ascontiguousarray(trial.sequence[:, columns]),
            "label": recording.activity,
            "trial": recording.trial,
            **body_of(persons.get(recording.number)),
            **people.record(recording.subject, device=DEVICE),
        },
    )


def body_of(person: motionsense.Person | None) -> dict[str, object]:
    """Returns the weight, height, age and sex of a person. Unknown numbers are NaN, and an unknown
    sex is an empty text.
    """
    if person is None:
        return {"weight": math.nan, "height": math.nan, "age": math.nan, "sex": ""}
    return dataclasses.asdict(person)


def persons_of(sources: dict[str, Source]) -> dict[int, motionsense.Person]:
    """Reads the table of the people, which is in the archive or in the same folder as the archive.
    Returns an empty dict if the table does not exist.
    """
    for source in sources.values():
        members = source.index(re.escape(TABLE))
        if members:
            return motionsense.parse_people(source.open(members[()]), name=TABLE).by_code
    log.warning(
        "%s does not exist, so weight, height, age and sex are unknown. Download the table "
        "from the same folder as the archive.",
        TABLE,
    )
    return {}


def recordings_of(source: Source) -> list[Recording]:
    """Returns the trials of an archive, in the order of people and trials.

    Some archives have a copy of the folder within the folder. If two files are equal, the function
    uses the first file.

    Raises:
        ArchiveError: If the archive has no trial, if a file is not a trial of MotionSense, or if
            there are two different files for the same trial.
    """
    recordings: dict[tuple[int, str, int], Recording] = {}
    for name in sorted(source.names, key=lambda name: (name.count("/"), name)):
        match = re.fullmatch(_MEMBER, name)
        if not match:
            continue
        activity, trial, number = match[1], int(match[2]), int(match[3])
        if trial not in TRIALS.get(activity, ()) or not 1 <= number <= SUBJECTS:
            raise ArchiveError(
                f"{source.title}: {quoted(name)} is not a trial of MotionSense. Remove all files "
                "that are not from A_DeviceMotion_data.zip."
            )
        recording = Recording(number, activity, trial, name)
        first = recordings.setdefault((number, activity, trial), recording)
        if first is not recording and source.read(first.member) != source.read(name):
            raise ArchiveError(
                f"{source.title}: {first.member} and {name} are the same trial, but differ. "
                "Remove one of the two folders."
            )
    if not recordings:
        names = source.first_names
        raise ArchiveError(
            f"{source.title} holds no <activity>_<trial>/sub_<n>.csv. It holds {names}. {_GET}"
        )
    return sorted(recordings.values())


def repeated(source: Source, recordings: list[Recording]) -> dict[str, str]:
    """Finds trials with the same bytes as an earlier trial of the same person.

    Returns:
        A mapping from each repeated trial to the first trial with the same bytes.

    Raises:
        ArchiveError: If trials of two people have the same bytes, so that one of the two labels
            must be wrong.
    """
    repeats = Repeats(source.title, "trials", "kept")
    for recording in track(recordings, f"{source.title}: looking for repeated trials"):
        repeats.add(source.read(recording.member), recording.key, f"person {recording.subject}")
    repeats.report()
    return repeats.same_as
