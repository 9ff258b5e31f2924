"""Data set with the gaze of people who watch films, recorded for both eyes at 30 samples per second
(DIEM, Mital2011).
"""

from __future__ import annotations

import dataclasses
import functools
import io
import logging
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.archive import Source
from tfds_builders.common.builder import About, Example, Plan, RecordingsBuilder
from tfds_builders.common.errors import ArchiveError, quoted
from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits
from tfds_builders.common.repeats import Contents, Repeats
from tfds_builders.common.splits import by_subject, by_subject_and_video
from tfds_builders.parsers import event_text

log = logging.getLogger("tfds_builders")

HALVES = {"train": 0.5, "test": 0.5}  # fractions of the people and of the films (Abdelwahab2019)
VALIDATION = 0.2  # fractions of the people in the training half
VIDEOS = 84
_MEMBER = re.compile(r"(?:.*/)?([^/]+)/event_data/([^/]+)\.txt")
_STEM = re.compile(r"(diem\d+s\d+)([a-z]?)\.asc_(\d{1,4})_(\w+_(\d{2,5})x(\d{2,5}))")
_GET = (
    "Get the archives of the films (CC BY-NC-SA) from https://thediemproject.wordpress.com. "
    "Unpack the archives into a folder diem_gaze in the manual folder, or put a file "
    "DIEM_event_data.tar.xz with the event_data folders of the films into the manual folder. "
    "Then run `python -m tfds_builders.build diem_gaze --manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="diem_gaze",
    stems=("DIEM_event_data", "DIEM"),
    loose=r"\w+_\d+x\d+",
    official="<video>_<width>x<height>/event_data",
    get=_GET,
    # the official folders contain the films too
    limits=Limits(members=20_000, member_bytes=2 << 30, total_bytes=64 << 30),
)


class Recording(NamedTuple):
    """One recording, described by the parts of its file name and the path of the file in the
    archive.
    """

    subject: str
    letter: str  # `b` means the second tracker file of the person
    video: str
    place: int
    width: int
    height: int
    member: str

    @property
    def key(self) -> str:
        return f"{self.subject}{self.letter}/{self.video}"

    @property
    def session(self) -> int:
        return ord(self.letter or "a") - ord("a")


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Configuration that sets how recordings are divided into splits.

    Attributes:
        divided: If True, recordings are divided so that `train` and `test` share neither people nor
            films. If False, all recordings are in `train`.
    """

    divided: bool = True


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `diem_gaze`."""

    VERSION = tfds.core.Version("2.0.0")
    RELEASE_NOTES = {
        "2.0.0": "`subject` of `diem4s04b` is `diem4s04`, its `session` 1.",
        "1.0.0": "First release.",
    }
    ABOUT = About(people=250, size=f"{VIDEOS} films", license="CC BY-NC-SA 3.0", archives=WANTED)
    HOMEPAGE = "https://thediemproject.wordpress.com"
    ARCHIVE_KEY = "event_data"
    BUILDER_CONFIGS = [
        Config(name="protocol", description="`train` and `test` share neither people nor films."),
        Config(name="all", description="All recordings in one split.", divided=False),
    ]

    def features(self) -> dict:
        channels = len(event_text.CHANNELS)
        return {
            "sequence": tfds.features.Tensor(shape=(None, channels), dtype=np.float32),
            "event": tfds.features.Tensor(shape=(None, 2), dtype=np.int8, encoding="bytes"),
            "video": tfds.features.Text(),
            "width": np.int32,
            "height": np.int32,
            "place": np.int32,
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        recordings = recordings_of(source)
        counts = {"films": (len({recording.video for recording in recordings}), VIDEOS)}
        self.warn_of_part(source, "DIEM", counts, divided=counts)
        splits = {"train": recordings}
        if self.builder_config.divided:
            splits = split_people_and_films(recordings, source)
        return Plan(
            splits,
            functools.partial(examples_of, source=source),
            repeats=Repeats(source.title, "recordings", "kept"),
            subjects={split: sorted({r.subject for r in part}) for split, part in splits.items()},
            metadata={
                "channels": list(event_text.CHANNELS),
                "rate_hz": event_text.RATE_HZ,
                "videos": {split: sorted({r.video for r in part})
                           for split, part in splits.items()},
            },
        )  # fmt: skip


def examples_of(
    recording: Recording, repeats: Repeats | Contents, source: Source
) -> Iterator[Example]:
    """Yields the example of a recording. Raises an error if two people have the same recording."""
    content = source.read(recording.member)
    repeats.add(content, recording.key, f"subject {recording.subject}")
    gaze = event_text.parse(io.BytesIO(content), name=recording.member)
    yield (
        recording.key,
        {
            **dataclasses.asdict(gaze),
            "video": recording.video,
            "width": recording.width,
            "height": recording.height,
            "place": recording.place,
            **people.record(recording.subject, session=recording.session, day=0),
        },
    )


def recordings_of(source: Source) -> list[Recording]:
    """Returns the recordings of an archive, in the order of their names.

    Raises:
        ArchiveError: If the archive has no recording, if the name of a recording does not match the
            film of its folder, or if a recording occurs twice.
    """
    matches = filter(None, map(_MEMBER.fullmatch, source.names))
    recordings = sorted(_recording(match, source) for match in matches)
    if not recordings:
        names = source.first_names
        raise ArchiveError(
            f"{source.title} holds no <video>_<width>x<height>/event_data/….txt. It holds {names}. "
            f"{_GET}"
        )
    first: dict[str, str] = {}
    for recording in recordings:
        member = first.setdefault(recording.key, recording.member)
        if member is not recording.member:
            raise ArchiveError(
                f"{source.title} holds the same recording twice: {member} and {recording.member}. "
                "Remove one of the two."
            )
    return recordings


def _recording(member: re.Match, source: Source) -> Recording:
    folder, stem = member.groups()
    match = _STEM.fullmatch(stem)
    if match is None or match[4] != folder:
        raise ArchiveError(
            f"{source.title}: {quoted(member[0])} is not a recording of DIEM, expected a name such "
            "as <video>/event_data/diem<experiment>s<number>.asc_<place>_<video>.txt, in which "
            "<video> is <name>_<width>x<height>. Remove the file."
        )
    subject, letter, place, video, width, height = match.groups()
    return Recording(subject, letter, video, int(place), int(width), int(height), member[0])


def split_people_and_films(
    recordings: list[Recording], source: Source
) -> dict[str, list[Recording]]:
    """Divides recordings into splits that share no people. The films of `test` are not in the other
    splits.

    Raises:
        ArchiveError: If a split is empty.
    """
    try:
        halves = by_subject_and_video(((r.subject, r.video) for r in recordings), HALVES)
        trained = by_subject(
            (subject for subject, _ in halves["train"]),
            {"train": 1 - VALIDATION, "validation": VALIDATION},
        )
    except ValueError as error:
        raise ArchiveError(
            f"{source.title}: {error} Add the event_data of more films, or prepare diem_gaze/all."
        ) from None
    keys = {
        split: {key for key in halves["train"] if key[0] in ids} for split, ids in trained.items()
    }
    keys["test"] = set(halves["test"])
    splits = {
        split: [r for r in recordings if (r.subject, r.video) in kept_keys]
        for split, kept_keys in keys.items()
    }
    log.warning(
        "%s: kept %d of %d recordings. In the others, the person and the film are in different "
        "halves.",
        source.title, sum(map(len, splits.values())), len(recordings),
    )  # fmt: skip
    return splits
