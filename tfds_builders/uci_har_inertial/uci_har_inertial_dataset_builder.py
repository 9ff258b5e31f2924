"""Data set with six activities of 30 people who wear a phone at the waist (UCI HAR,
Anguita2013).
"""

from __future__ import annotations

import dataclasses
import functools
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
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Repeats
from tfds_builders.parsers import har
from tfds_builders.uci_har_inertial.overlap import joined, runs

SUBJECTS = 30
WINDOWS = {"train": 7_352, "test": 2_947}
DEVICE = "Samsung Galaxy S II"
_GET = (
    "Get UCI HAR Dataset.zip (about 60 MB) from https://doi.org/10.24432/C54S4K. Put the zip "
    "file, or the zip file that contains it, into the manual folder. Then run `python -m "
    "tfds_builders.build uci_har_inertial --manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="uci_har_inertial",
    stems=("UCI HAR Dataset",),
    loose=r"activity_labels\.txt",
    official="UCI HAR Dataset.zip",
    get=_GET,
    outer=(
        "human+activity+recognition+using+smartphones",
        "human_activity_recognition_using_smartphones",
    ),
    limits=Limits(members=1_000, member_bytes=128 << 20, total_bytes=1 << 30),
)


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Configuration that sets the contents of a record.

    Attributes:
        joins: Whether the builder joins consecutive windows into one record, in which each sample
            occurs once.
    """

    joins: bool = False


class Part(NamedTuple):
    """Windows of one split, in the order of the files.

    Attributes:
        sequence: Windows of shape (windows, 128, 9), float32.
        subjects: Person of each window, (windows,) int32.
        labels: Number of the activity of each window, (windows,) int32. Numbers count from 1.
    """

    sequence: np.ndarray
    subjects: np.ndarray
    labels: np.ndarray

    def key(self, row: int) -> str:
        """Returns the key of the record whose first window is in the given row."""
        return f"{self.subjects[row]}/{row:04d}"


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `uci_har_inertial`."""

    ABOUT = About(
        people=SUBJECTS,
        size=f"{sum(WINDOWS.values()):,} windows",
        license="commercial use is prohibited",
        archives=WANTED,
    )
    HOMEPAGE = "https://doi.org/10.24432/C54S4K"
    ARCHIVE_KEY = "UCI HAR Dataset"
    SUPERVISED_KEYS = ("sequence", "label")
    BUILDER_CONFIGS = [
        Config(
            name="windows",
            description="Windows of 2.56 s. Neighboring windows share half of their samples.",
        ),
        Config(
            name="joined",
            description="Records that join overlapping windows and contain each sample once.",
            joins=True,
        ),
    ]

    def features(self) -> dict:
        time = None if self.builder_config.joins else har.SAMPLES
        return {
            "sequence": tfds.features.Tensor(
                shape=(time, len(har.CHANNELS)), dtype=np.float32, encoding="bytes"
            ),
            "label": tfds.features.ClassLabel(names=list(har.ACTIVITIES)),
            "window": np.int32,
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        parts = parts_of(source)
        counts = {
            f"windows of `{split}`": (len(part.sequence), WINDOWS[split])
            for split, part in parts.items()
        }
        self.warn_of_part(source, "the official archive", counts)
        return Plan(
            {split: [part] for split, part in parts.items()},
            functools.partial(examples_of, joins=self.builder_config.joins),
            "parts",
            subjects={
                split: [str(subject) for subject in np.unique(part.subjects)]
                for split, part in parts.items()
            },
            metadata={
                "same_as": repeated(source, parts),
                "channels": list(har.CHANNELS),
                "rate_hz": har.RATE_HZ,
            },
            is_independent=False,  # the windows are already in memory
        )


def examples_of(part: Part, _: object, joins: bool) -> Iterator[Example]:
    """Yields one example for each window of a part or, if `joins` is True, for each run of
    windows.
    """
    rows = runs(*part) if joins else [[row] for row in range(len(part.sequence))]
    for first, *following in rows:
        windows = part.sequence[[first, *following]]
        yield (
            part.key(first),
            {
                "sequence": joined(windows) if joins else windows[0],
                "label": part.labels[first] - 1,
                "window": int(first),
                **people.record(str(part.subjects[first]), device=DEVICE),
            },
        )


def parts_of(source: Source) -> dict[str, Part]:
    """Reads the windows of both official parts.

    Raises:
        ArchiveError: If a file is missing or occurs twice, if the files of a part do not have the
            same number of lines, or if a person is in both parts.
        FormatError: If a file cannot be read.
    """
    labels = source.index(r"activity_labels\.txt")
    members = source.index(r"(\w+)_(train|test)\.txt")
    stems = (*har.CHANNELS, "subject", "y")
    names = [
        f"{stem}_{split}.txt" for split in WINDOWS for stem in stems if (stem, split) not in members
    ]
    missing = ["activity_labels.txt"] * (not labels) + names
    if missing:
        first_names = source.first_names
        raise ArchiveError(
            f"{source.title} holds no {', '.join(missing[:5])}. It holds {first_names}. {_GET}"
        )
    har.check_activities(source.open(labels[()]), name=labels[()])
    parts = {
        split: _part(source, {stem: members[stem, split] for stem in stems}) for split in WINDOWS
    }
    shared = np.intersect1d(*(part.subjects for part in parts.values()))
    if shared.size:
        raise ArchiveError(
            f"{source.title}: subject {shared[0]} is in train and in test, but each person of the "
            "official archive is in only one part. Get the archive again."
        )
    return parts


def _part(source: Source, members: dict[str, str]) -> Part:
    subjects = har.parse_column(
        source.open(members["subject"]), name=members["subject"], most=SUBJECTS
    ).values
    labels = har.parse_column(
        source.open(members["y"]), name=members["y"], most=len(har.ACTIVITIES)
    ).values
    channels = [
        har.parse(source.open(members[channel]), name=members[channel]).windows
        for channel in track(har.CHANNELS, f"{source.title}, signals")
    ]
    for stem, values in zip((*har.CHANNELS, "y"), (*channels, labels), strict=True):
        if len(values) != len(subjects):
            raise ArchiveError(
                f"{source.title}: {members[stem]} has {len(values)} lines, but "
                f"{members['subject']} has {len(subjects)}. The files are incomplete or "
                "from two archives. Get the archive again."
            )
    return Part(np.stack(channels, axis=2), subjects, labels)


def repeated(source: Source, parts: dict[str, Part]) -> dict[str, str]:
    """Finds windows with the same samples as an earlier window of the same person.

    Returns:
        A mapping from each repeated window to the first window with the same samples.

    Raises:
        ArchiveError: If windows of two people have the same samples, so that one of the two labels
            must be wrong.
    """
    repeats = Repeats(source.title, "windows", "kept")
    for part in parts.values():
        for row, window in enumerate(part.sequence):
            repeats.add(window, part.key(row), f"subject {part.subjects[row]}")
    repeats.report()
    return repeats.same_as
