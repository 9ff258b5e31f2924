"""Data set with the fixations of people who watch videos that show several faces (Xu2018)."""

from __future__ import annotations

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
from tfds_builders.common.splits import by_subject_and_video
from tfds_builders.findwho_gaze import fixations

log = logging.getLogger("tfds_builders")

FRACTIONS = {
    "train": 0.5,
    "validation": 0.2,
    "test": 0.3,
}  # fractions of the people and of the videos
SUBJECTS, VIDEOS = 39, 75
COLUMNS = ("start_ms", "duration_ms", "x", "y")
FILE = "video_database.mat"
WANTED = Wanted(
    dataset="findwho_gaze",
    stems=("find", "find-master", "Our_database"),
    loose=r"video_database\.mat",
    official="find.zip",
    get="Get Our_database/video_database.mat from https://github.com/yufanLIU/find. Put the "
    "file into a folder findwho_gaze in the manual folder, or put the whole repository "
    "into the manual folder, unpacked or as find.zip. Then run `python -m "
    "tfds_builders.build findwho_gaze --manual-dir FOLDER`.",
    # the repository contains the videos too
    limits=Limits(members=5_000, member_bytes=1 << 30, total_bytes=16 << 30),
)


class FixationList(NamedTuple):
    """List of the fixations of one person on one video."""

    subject: str
    video: str
    rows: np.ndarray


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `findwho_gaze`."""

    ABOUT = About(
        people=SUBJECTS, size=f"{VIDEOS} videos", license="none is stated", archives=WANTED
    )
    HOMEPAGE = "https://github.com/yufanLIU/find"
    ARCHIVE_KEY = "find"
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(
            name="fixations", description="One list of fixations for each person and video."
        ),
    ]

    def features(self) -> dict:
        return {
            "fixations": tfds.features.Tensor(shape=(None, len(COLUMNS)), dtype=np.float32),
            "video": tfds.features.Text(),
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        lists = lists_of(source)
        try:
            splits = by_subject_and_video(lists, FRACTIONS)
        except ValueError as error:
            raise ArchiveError(f"{source.title}: {error} {WANTED.get}") from None
        subjects, videos = ({*ids} for ids in zip(*lists, strict=True))
        counts = {"people": (len(subjects), SUBJECTS), "videos": (len(videos), VIDEOS)}
        self.warn_of_part(source, "the official file", counts, divided=counts)
        log.warning(
            "%s: kept %d of %d lists. In the others, the person and the video are in different "
            "splits.",
            source.title, sum(map(len, splits.values())), len(lists),
        )  # fmt: skip
        return Plan(
            {split: [FixationList(*key, lists[key]) for key in keys]
             for split, keys in splits.items()},
            examples_of,
            "lists",
            Repeats(source.title, "lists of fixations", "kept"),
            subjects={split: sorted({s for s, _ in keys}) for split, keys in splits.items()},
            metadata={
                "columns": list(COLUMNS),
                "videos": {split: sorted({v for _, v in keys}) for split, keys in splits.items()},
            },
            is_independent=False,  # the lists are already in memory
        )  # fmt: skip


def examples_of(recording, repeats: Repeats | Contents) -> Iterator[Example]:
    """Yields the example of a list. Raises an error if two people have the same list."""
    subject, video, rows = recording
    key = f"{subject}/{video}"
    repeats.add(rows, key, f"subject {subject}")
    yield key, {"fixations": rows, "video": video, **people.record(subject)}


def lists_of(source: Source) -> dict[tuple[str, str], np.ndarray]:
    """Returns a dictionary with the list of fixations for each pair of subject and video. The keys
    have the form `("1", "002")`.

    Raises:
        ArchiveError: If the archive does not contain the file, or if it contains the file twice.
    """
    member = source.index(r"video_database\.mat").get(())
    if member is None:
        raise ArchiveError(
            f"{source.title} holds no {FILE}. It holds {source.first_names}. {WANTED.get}"
        )
    table = fixations.parse(source.open(member), name=member)
    if table.strays:
        log.warning(
            "%s: left out %d fixations that do not state a person.", source.title, table.strays
        )
    return {(str(subject), f"{video:03d}"): rows for (subject, video), rows in table.lists.items()}
