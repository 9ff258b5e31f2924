"""Six activities of 30 people with a phone at the waist (UCI HAR, Anguita2013)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.about import About
from tfds_builders.common.builder import AloneMixin
from tfds_builders.common.checks import origins
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted, find
from tfds_builders.common.limits import Limits
from tfds_builders.common.parts import tell_part
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Repeats
from tfds_builders.common.source import Source
from tfds_builders.parsers import har
from tfds_builders.uci_har_inertial.overlap import joined, runs

SUBJECTS = 30
WINDOWS = {"train": 7_352, "test": 2_947}
DEVICE = "Samsung Galaxy S II"
_GET = (
    "Get the archive from https://doi.org/10.24432/C54S4K (about 60 MB, UCI HAR Dataset.zip, or "
    "the zip around it), put it into the manual folder as it is, and run `python -m "
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
    """What a record holds.

    Attributes:
        joins: Whether windows that follow one another are one record, each sample once.
    """

    joins: bool = False


class Part(NamedTuple):
    """The windows of a split, in the order of the files.

    Attributes:
        sequence: (windows, 128, 9) float32.
        subjects: (windows,) int32, the person of each.
        labels: (windows,) int32, the activity of each, from 1.
    """

    sequence: np.ndarray
    subjects: np.ndarray
    labels: np.ndarray

    def key(self, row: int) -> str:
        """Id of the record that begins with this window."""
        return f"{self.subjects[row]}/{row:04d}"


class Builder(AloneMixin, tfds.core.GeneratorBasedBuilder):
    """Builder of `uci_har_inertial`."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = _GET
    ABOUT = About(
        people=SUBJECTS,
        size=f"{sum(WINDOWS.values()):,} windows",
        license="commercial use is prohibited",
        archives=WANTED,
    )
    BUILDER_CONFIGS = [
        Config(name="windows", description="Windows of 2.56 s; neighbors share half of it."),
        Config(
            name="joined",
            description="Windows that follow one another as one record, each sample once.",
            joins=True,
        ),
    ]

    def _info(self):
        time = None if self.builder_config.joins else har.SAMPLES
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "id": tfds.features.Text(),
                    "sequence": tfds.features.Tensor(
                        shape=(time, len(har.CHANNELS)), dtype=np.float32, encoding="bytes"
                    ),
                    "label": tfds.features.ClassLabel(names=list(har.ACTIVITIES)),
                    "window": np.int32,
                    **people.features(),
                }
            ),
            supervised_keys=("sequence", "label"),
            homepage="https://doi.org/10.24432/C54S4K",
            metadata=tfds.core.MetadataDict(),
        )

    def sources(self, manual_dir) -> dict[str, Source]:
        """Finds the archive.

        Raises:
            ArchiveError: When it is missing or cannot be opened.
        """
        return {"UCI HAR Dataset": find(manual_dir, WANTED)}

    def _split_generators(self, dl_manager):
        sources = self.sources(dl_manager.manual_dir)
        (source,) = sources.values()
        parts = parts_of(source)
        held = {
            f"windows of `{split}`": (len(part.sequence), WINDOWS[split])
            for split, part in parts.items()
        }
        tell_part(self.info, source.title, "the official archive", held)
        self.info.metadata.update(
            **origins(self.name, sources),
            same_as=repeated(source, parts),
            channels=list(har.CHANNELS),
            rate_hz=har.RATE_HZ,
            subjects={
                split: [str(subject) for subject in np.unique(part.subjects)]
                for split, part in parts.items()
            },
        )
        return {split: self._generate_examples(part) for split, part in parts.items()}

    def _generate_examples(self, part):
        for row, sequence in self._sequences(part):
            key = part.key(row)
            yield (
                key,
                {
                    "id": key,
                    "sequence": sequence,
                    "label": part.labels[row] - 1,
                    "window": row,
                    **people.record(str(part.subjects[row]), device=DEVICE),
                },
            )

    def _sequences(self, part: Part) -> Iterator[tuple[int, np.ndarray]]:
        """The samples of each record, with the place of its first window."""
        if not self.builder_config.joins:
            yield from enumerate(part.sequence)
            return
        for rows in runs(*part):
            yield int(rows[0]), joined(part.sequence[rows])


def parts_of(source: Source) -> dict[str, Part]:
    """Reads the windows of both official parts.

    Raises:
        ArchiveError: When a file is missing or there twice, or somebody is in both parts.
        FormatError: When a file cannot be read, or has another number of windows.
    """
    labels = source.index(r"activity_labels\.txt")
    members = source.index(r"(\w+)_(train|test)\.txt")
    stems = (*har.CHANNELS, "subject", "y")
    names = [
        f"{stem}_{split}.txt" for split in WINDOWS for stem in stems if (stem, split) not in members
    ]
    missing = ["activity_labels.txt"] * (not labels) + names
    if missing:
        found = source.listed
        raise ArchiveError(
            f"{source.title} holds no {', '.join(missing[:5])}; it holds {found}. {_GET}"
        )
    har.check_activities(source.open(labels[()]), name=labels[()])
    parts = {
        split: _part(source, {stem: members[stem, split] for stem in stems}) for split in WINDOWS
    }
    both = np.intersect1d(*(part.subjects for part in parts.values()))
    if both.size:
        raise ArchiveError(
            f"{source.title}: subject {both[0]} is in train and in test, but the official parts "
            "share nobody. Get the archive again."
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
                f"{source.title}: {members[stem]} has {len(values)} lines, {members['subject']} "
                f"{len(subjects)}. The archive is cut or mixed of two; get it again."
            )
    return Part(np.stack(channels, axis=2), subjects, labels)


def repeated(source: Source, parts: dict[str, Part]) -> dict[str, str]:
    """Finds windows with the very samples of an earlier one of the person.

    Returns:
        The first window with the same samples, by window.

    Raises:
        ArchiveError: When two people have the same samples: one label must be wrong.
    """
    repeats = Repeats(source.title, "windows", "kept")
    for part in parts.values():
        for row, window in enumerate(part.sequence):
            repeats.add(window, part.key(row), f"subject {part.subjects[row]}")
    repeats.report()
    return repeats.same_as
