"""Data set with the gaze of people who watch natural movies, recorded at 250 Hz (GazeCom,
Dorr2010).
"""

from __future__ import annotations

import dataclasses
import functools
import io
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
from tfds_builders.common.repeats import Contents, Repeats
from tfds_builders.common.splits import by_subject
from tfds_builders.gazecom_gaze.resampling import uniform
from tfds_builders.parsers import coord

FRACTIONS = {"train": 0.6, "validation": 0.15, "test": 0.25}
SUBJECTS, RECORDINGS = 54, 844
FOLDER = "natural_movies_gaze"
_NAME = re.compile(r"([A-Z\d]{3})_([a-z\d_]+)\.coord")
_GET = (
    "Get the archive of gaze data from "
    "https://www.inb.uni-luebeck.de/fileadmin/files/MITARBEITER/Dorr/EyeMovementDataSet.html. "
    "Put the archive into the manual folder as gaze.zip or gaze.tar.xz, or put the unpacked "
    "folder gaze there. Then run `python -m tfds_builders.build gazecom_gaze --manual-dir "
    "FOLDER`."
)
WANTED = Wanted(
    dataset="gazecom_gaze",
    stems=("gaze", FOLDER),
    loose=r"[A-Z\d]{3}_\w+\.coord",
    official="gaze.zip",
    get=_GET,
    limits=Limits(members=20_000, member_bytes=8 << 20, total_bytes=2 << 30),
)


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Configuration that sets the times of the samples.

    Attributes:
        resampled: Whether the builder resamples the recordings to evenly spaced times at 250 Hz. If
            False, samples have the times of the file.
    """

    resampled: bool = False


class Recording(NamedTuple):
    """A recording of one person watching one movie, and the path of its file in the archive."""

    subject: str
    movie: str
    member: str


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `gazecom_gaze`."""

    ABOUT = About(
        people=SUBJECTS, size=f"{RECORDINGS} recordings", license="none is stated", archives=WANTED
    )
    HOMEPAGE = "https://doi.org/10.1167/10.10.28"
    ARCHIVE_KEY = "gaze"
    BUILDER_CONFIGS = [
        Config(name="natural_movies", description="Samples of the files, at uneven times."),
        Config(
            name="uniform",
            description="Gaze resampled to evenly spaced times at 250 Hz. Values are NaN if the "
            "eye tracker lost the eye.",
            resampled=True,
        ),
    ]

    def features(self) -> dict:
        tensor = tfds.features.Tensor
        return {
            "sequence": tensor(shape=(None, 2), dtype=np.float32),
            "time_us": tensor(shape=(None,), dtype=np.int64, encoding="bytes"),
            "confidence": tensor(shape=(None,), dtype=np.uint8, encoding="bytes"),
            "movie": tfds.features.Text(),
            "width": np.int32,
            "height": np.int32,
            "distance_m": np.float32,
            "screen_width_m": np.float32,
            "screen_height_m": np.float32,
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        recordings = recordings_of(source)
        subjects = by_subject((recording.subject for recording in recordings), FRACTIONS)
        counts = {
            "recordings": (len(recordings), RECORDINGS),
            "people": (sum(map(len, subjects.values())), SUBJECTS),
        }
        self.warn_of_part(source, "GazeCom", counts, divided=["people"])
        return Plan(
            divided(recordings, subjects),
            functools.partial(examples_of, source=source, config=self.builder_config),
            repeats=Repeats(source.title, "recordings", "kept"),
            subjects=subjects,
            metadata={
                "rate_hz": coord.RATE_HZ,
                "movies": sorted({recording.movie for recording in recordings}),
            },
        )


def examples_of(
    recording: Recording, repeats: Repeats | Contents, source: Source, config: Config
) -> Iterator[Example]:
    """Yields the example of a recording. Raises an error if two people have the same recording."""
    subject, movie, member = recording
    content = source.read(member)
    repeats.add(content, f"{subject}_{movie}", f"subject {subject}")
    gaze = dataclasses.asdict(coord.parse(io.BytesIO(content), name=member))
    if config.resampled:
        gaze |= _resampled(gaze)
    yield f"{subject}/{movie}", {"movie": movie, **gaze, **people.record(subject)}


def _resampled(recording: dict) -> dict:
    grid_us, sequence = uniform(*(recording[k] for k in ("time_us", "sequence", "confidence")))
    confidence = np.isfinite(sequence[:, 0]).astype(np.uint8)
    return {"time_us": grid_us, "sequence": sequence, "confidence": confidence}


def recordings_of(source: Source) -> list[Recording]:
    """Returns the recordings of the natural movies.

    The function ignores the other folders of the archive. The other folders contain recordings of
    trailers, still images and repeated movies.

    Raises:
        ArchiveError: If the archive has no recording, if a file is not named like a recording, or
            if a recording occurs twice.
    """
    members: dict[tuple[str, str], str] = {}
    for member in source.names:
        folder, _, name = member.rpartition("/")
        if not name.endswith(".coord") or folder.rpartition("/")[2] not in ("", FOLDER):
            continue
        match = _NAME.fullmatch(name)
        if match is None:
            raise ArchiveError(
                f"{source.title}: {quoted(member)} is not a recording of GazeCom, expected a name "
                "<SUBJECT>_<movie>.coord with three characters for the subject. Remove the file."
            )
        if members.setdefault(match.groups(), member) is not member:
            raise ArchiveError(
                f"{source.title} holds the same recording twice: {members[match.groups()]} and "
                f"{member}. Remove one of the two folders."
            )
    if not members:
        names = source.first_names
        raise ArchiveError(
            f"{source.title} holds no {FOLDER}/<SUBJECT>_<movie>.coord. It holds {names}. {_GET}"
        )
    return [Recording(*key, member) for key, member in members.items()]
