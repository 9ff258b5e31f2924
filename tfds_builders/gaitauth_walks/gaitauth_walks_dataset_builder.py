"""Data set with walks of 38 people who carry a phone in their trouser pocket (GaitAuth,
Hoang2015).
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
from tfds_builders.common.builder import About, Example, Plan, RecordingsBuilder, divided
from tfds_builders.common.errors import ArchiveError, quoted
from tfds_builders.common.even_times import uniform_parts
from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Repeats
from tfds_builders.common.sittings import Place, places
from tfds_builders.common.splits import by_subject
from tfds_builders.parsers import gaitauth

FRACTIONS = {"train": 0.65, "validation": 0.10, "test": 0.25}
SUBJECTS = 38
SEXES = {"F": "female", "M": "male"}
DEVICE = "NexusOne"
LONGEST_GAP_MS = 200
SHORTEST_PART_SECONDS = 1  # shortest part in seconds; a shorter part is less than a stride
_SENSOR = "BMA 150 3-axis Accelerometer"
_NAME = rf"(ID\d\d)_([FM])_(\d{{1,6}})_\[Nexus_?One\]{_SENSOR}_(\d{{1,3}})\.txt"
_GET = (
    "Get the folder DATASET of https://github.com/thanghoang/GaitAuth (for research only). "
    "Put the folder into the manual folder, unpacked or packed as GaitAuth_DATASET.tar.xz or "
    "GaitAuth_DATASET.zip. Then run `python -m tfds_builders.build gaitauth_walks "
    "--manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="gaitauth_walks",
    stems=("GaitAuth_DATASET", "GaitAuth-master", "GaitAuth", "DATASET"),
    loose=r"ID\d\d_[FM]_.*\.txt",
    official="GaitAuth_DATASET.tar.xz",
    get=_GET,
    limits=Limits(members=10_000, member_bytes=8 << 20, total_bytes=1 << 30),
)


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Configuration that sets the times of the samples.

    Attributes:
        rate_hz: Samples per second after resampling. The rate must be a divisor of 1,000. If None,
            records have the uneven times of the file.
    """

    rate_hz: int | None = None


class Recording(NamedTuple):
    """One walk, described by the parts of its file name and the path of the file in the archive."""

    subject: str
    sex: str
    session: str
    sequence: str
    member: str

    @property
    def key(self) -> str:
        return f"{self.subject}/{self.session}_{self.sequence}"


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `gaitauth_walks`."""

    ABOUT = About(
        people=SUBJECTS,
        size="36 s a walk",
        license="academic or research purposes",
        archives=WANTED,
    )
    HOMEPAGE = "https://github.com/thanghoang/GaitAuth"
    ARCHIVE_KEY = "walks"
    BUILDER_CONFIGS = [
        Config(
            name="walks", description="Samples of the files, about 25 per second, at uneven times."
        ),
        Config(
            name="uniform50",
            description="Samples interpolated to 50 Hz. A gap above 200 ms divides a walk "
            "into two records.",
            rate_hz=50,
        ),
    ]

    def features(self) -> dict:
        tensor = tfds.features.Tensor
        return {
            "sequence": tensor(shape=(None, len(gaitauth.CHANNELS)), dtype=np.float32),
            "time_ms": tensor(shape=(None,), dtype=np.int64, encoding="bytes"),
            "sex": tfds.features.Text(),
            "walk": np.int32,
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        recordings = recordings_of(source)
        repeats = Repeats(source.title, "walks", "kept")
        placed = placed_walks(source, recordings, repeats)
        subjects = by_subject((recording.subject for recording in recordings), FRACTIONS)
        counts = {"people": (sum(map(len, subjects.values())), SUBJECTS)}
        self.warn_of_part(source, "GaitAuth", counts, divided=["people"])
        rate_hz = self.builder_config.rate_hz
        return Plan(
            divided(recordings, subjects),
            functools.partial(examples_of, source=source, placed=placed, rate_hz=rate_hz),
            "walks",
            subjects=subjects,
            metadata={
                "same_as": repeats.same_as,
                "channels": list(gaitauth.CHANNELS),
                "rate_hz": rate_hz,
            },
        )


def examples_of(
    recording: Recording, _: object, source: Source, placed: dict[str, Place], rate_hz: int | None
) -> Iterator[Example]:
    """Yields one example for a walk, or one example for each part of the walk between two gaps."""
    place = placed[recording.key]
    for key, time_ms, sequence in _parts(source, recording, rate_hz):
        yield (
            key,
            {
                "sequence": sequence,
                "time_ms": time_ms,
                "sex": recording.sex,
                "walk": place.walk,
                **people.record(
                    recording.subject, session=place.session, day=place.day, device=DEVICE
                ),
            },
        )


def _parts(
    source: Source, recording: Recording, rate_hz: int | None
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yields the key, times and samples of the walk (if `rate_hz` is None), or of each resampled
    part that is long enough.
    """
    walk = _walk(source, recording)
    if rate_hz is None:
        yield recording.key, walk.time_ms, walk.sequence
        return
    parts = uniform_parts(
        walk.time_ms, walk.sequence, step_ms=1000 // rate_hz, longest_gap_ms=LONGEST_GAP_MS
    )
    for number, (time_ms, sequence) in enumerate(parts):
        if len(time_ms) > SHORTEST_PART_SECONDS * rate_hz:
            yield f"{recording.key}/{number}", time_ms, sequence


def recordings_of(source: Source) -> list[Recording]:
    """Returns the walks of an archive, in the order of their names.

    Raises:
        ArchiveError: If the archive has no walk, if a file is not named like a walk, or if the file
            names state two sexes for the same person.
    """
    files = [name for name in source.names if _SENSOR in name]
    if not files:
        names = source.first_names
        raise ArchiveError(
            f"{source.title} holds no ID<nn>_<F|M>_…{_SENSOR}_<n>.txt. It holds {names}. {_GET}"
        )
    members = source.index(_NAME)  # raises an error for equal names in two folders
    odd = sorted(set(files) - set(members.values()))
    if odd:
        raise ArchiveError(
            f"{source.title}: {quoted(odd[0])} is not a walk of GaitAuth. The names of walks are "
            f"ID<nn>_<F|M>_<session>_[NexusOne]{_SENSOR}_<n>.txt. Remove the file."
        )
    sexes: dict[str, str] = {}
    for subject, sex, *_ in members:
        if sexes.setdefault(subject, sex) != sex:
            raise ArchiveError(
                f"{source.title}: {subject} has walks with the letter F and walks with the letter "
                "M. Get the archive again, or keep only the walks with the correct letter."
            )
    return [
        Recording(subject, SEXES[sex], session, sequence, member)
        for (subject, sex, session, sequence), member in sorted(members.items())
    ]


def placed_walks(source: Source, recordings: list[Recording], repeats: Repeats) -> dict[str, Place]:
    """Returns a dictionary from the key of each walk to the numbers of the walk, its sitting and
    its day.

    Raises:
        ArchiveError: If two people have walks with the same samples, so that one of the two labels
            must be wrong.
        FormatError: If a walk cannot be read.
    """
    starts: dict[str, dict[str, int]] = {}
    for recording in track(recordings, f"{source.title}: reading the start times of the walks"):
        walk = _walk(source, recording)
        repeats.add(walk.sequence, recording.key, recording.subject)
        starts.setdefault(recording.subject, {})[recording.key] = int(walk.time_ms[0])
    repeats.report()
    return {key: place for times in starts.values() for key, place in places(times).items()}


def _walk(source: Source, recording: Recording) -> gaitauth.Walk:
    return gaitauth.parse(source.open(recording.member), name=recording.member)
