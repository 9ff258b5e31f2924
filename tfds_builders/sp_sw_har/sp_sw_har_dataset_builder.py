"""Data set of 23 people who walk with a watch on the wrist and a phone in the pocket
(MateySanz2023).
"""

from __future__ import annotations

import dataclasses
import functools
import re
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
from tfds_builders.parsers import sp_sw_har

FRACTIONS = {"train": 0.65, "validation": 0.10, "test": 0.25}
SUBJECTS, RECORDINGS = 23, 446  # 223 runs, each recorded by both devices
DEVICES = {"sp": "phone", "sw": "watch"}
LONGEST_GAP_MS = 200
PEOPLE_TABLE, RUNS_TABLE = "subjects_info.csv", "executions_info.csv"
_NAME = r"(s\d\d)_(\d\d)_(sp|sw)\.csv"
_GET = (
    "Get https://github.com/GeoTecINIT/sp-sw-har-dataset as a zip file (CC BY 4.0, also at "
    "https://doi.org/10.5281/zenodo.8398688). Put the zip file into the manual folder. Then "
    "run `python -m tfds_builders.build sp_sw_har --manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="sp_sw_har",
    stems=(
        "sp-sw-har-dataset",
        "sp-sw-har-dataset-main",
        "sp-sw-har-dataset-master",
        "sp-sw-har-dataset_part",
    ),
    loose=re.escape(PEOPLE_TABLE),
    official="sp-sw-har-dataset-main.zip",
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
    """One run, recorded by one device and described by the parts of its file name and the path of
    the file in the archive.
    """

    subject: str
    run: str
    device: str
    member: str

    @property
    def id_of_run(self) -> str:
        return f"{self.subject}_{self.run}"

    @property
    def key(self) -> str:
        return f"{self.subject}/{self.run}/{self.device}"


class Tables(NamedTuple):
    """The two tables of the archive as dictionaries. The first dictionary maps the id of a person
    to the person. The second dictionary maps the id of a run to the conditions of the run.
    """

    people: dict[str, sp_sw_har.Person]
    runs: dict[str, sp_sw_har.Conditions]


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `sp_sw_har`."""

    ABOUT = About(
        people=SUBJECTS,
        size="223 runs of 11 s by two devices",
        license="CC BY 4.0",
        archives=WANTED,
    )
    HOMEPAGE = "https://doi.org/10.5281/zenodo.8398688"
    ARCHIVE_KEY = "runs"
    BUILDER_CONFIGS = [
        Config(
            name="runs", description="Samples of the files, about 104 per second, at uneven times."
        ),
        Config(
            name="uniform50",
            description="Samples interpolated to 50 Hz. A gap above 200 ms divides a run into "
            "two records.",
            rate_hz=50,
        ),
    ]

    def features(self) -> dict:
        tensor, text = tfds.features.Tensor, tfds.features.Text
        return {
            "sequence": tensor(shape=(None, len(sp_sw_har.CHANNELS)), dtype=np.float32),
            "time_ms": tensor(shape=(None,), dtype=np.int64, encoding="bytes"),
            "activity": tensor(shape=(None,), dtype=np.uint8, encoding="bytes"),
            "run": np.int32,
            **{key: text() for key in ("orientation", "first_turn", "second_turn")},
            "age": np.int32,
            "sex": text(),
            "height": np.int32,
            "weight": np.int32,
            "hand": text(),
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        recordings = recordings_of(source)
        tables = tables_of(source, recordings)
        repeats = Repeats(source.title, "runs", "kept")
        placed = placed_runs(source, recordings, repeats)
        subjects = by_subject((recording.subject for recording in recordings), FRACTIONS)
        counts = {
            "people": (sum(map(len, subjects.values())), SUBJECTS),
            "recordings": (len(recordings), RECORDINGS),
        }
        self.warn_of_part(source, "sp-sw-har-dataset", counts, divided=["people"])
        rate_hz = self.builder_config.rate_hz
        return Plan(
            divided(recordings, subjects),
            functools.partial(
                examples_of, source=source, tables=tables, placed=placed, rate_hz=rate_hz
            ),
            "runs",
            subjects=subjects,
            metadata={
                "same_as": repeats.same_as,
                "channels": list(sp_sw_har.CHANNELS),
                "activities": list(sp_sw_har.ACTIVITIES),
                "rate_hz": rate_hz,
            },
        )


def examples_of(
    recording: Recording,
    _: object,
    source: Source,
    tables: Tables,
    placed: dict[str, Place],
    rate_hz: int | None,
) -> Iterator[Example]:
    """Yields one example for a recording, or one example for each part of the recording between two
    gaps.
    """
    person = dataclasses.asdict(tables.people[recording.subject])
    del person["runs"]
    place = placed[recording.key]
    for key, run in _parts(source, recording, rate_hz):
        yield (
            key,
            {
                **dataclasses.asdict(run),
                "run": int(recording.run),
                **dataclasses.asdict(tables.runs[recording.id_of_run]),
                **person,
                **people.record(
                    recording.subject,
                    session=place.session,
                    day=place.day,
                    device=recording.device,
                ),
            },
        )


def _parts(
    source: Source, recording: Recording, rate_hz: int | None
) -> Iterator[tuple[str, sp_sw_har.Run]]:
    """Yields the key and the samples of the run, or of each part of the run between two gaps."""
    run = _run(source, recording)
    if rate_hz is None:
        yield recording.key, run
        return
    parts = uniform_parts(
        run.time_ms, run.sequence, step_ms=1000 // rate_hz, longest_gap_ms=LONGEST_GAP_MS
    )
    for number, (time_ms, sequence) in enumerate(parts):
        latest = np.searchsorted(run.time_ms, time_ms, side="right") - 1
        activity = run.activity[latest]
        yield f"{recording.key}/{number}", sp_sw_har.Run(time_ms, sequence, activity)


def recordings_of(source: Source) -> list[Recording]:
    """Returns the recordings of an archive, in the order of their names.

    Raises:
        ArchiveError: If the archive has no recording, or if a file is not named like a recording.
    """
    files = [name for name in source.names if re.search(r"_s[pw]\.csv$", name)]
    if not files:
        raise ArchiveError(
            f"{source.title} holds no sXX_YY_sp.csv or sXX_YY_sw.csv. It holds "
            f"{source.first_names}. {_GET}"
        )
    members = source.index(_NAME)  # raises an error for equal names in two folders
    odd = sorted({*files} - {*members.values()})
    if odd:
        raise ArchiveError(
            f"{source.title}: {quoted(odd[0])} is not a run of this data set, expected a name such "
            "as sXX_YY_sp.csv or sXX_YY_sw.csv. Remove the file."
        )
    return [
        Recording(subject, run, DEVICES[device], member)
        for (subject, run, device), member in sorted(members.items())
    ]


def tables_of(source: Source, recordings: list[Recording]) -> Tables:
    """Reads the tables of people and runs.

    Raises:
        ArchiveError: If a table is missing, if a table lacks the person or the run of a recording,
            or if a person has more runs than the table states.
        FormatError: If a table cannot be read.
    """
    members = [source.index(re.escape(name)) for name in (PEOPLE_TABLE, RUNS_TABLE)]
    for name, member in zip((PEOPLE_TABLE, RUNS_TABLE), members, strict=True):
        if not member:
            raise ArchiveError(
                f"{source.title} holds recordings, but not the table {name} from the folder DATA. "
                f"{_GET}"
            )
    of_people, of_runs = (source.open(member[()]) for member in members)
    tables = Tables(
        sp_sw_har.parse_people(of_people, name=PEOPLE_TABLE).by_id,
        sp_sw_har.parse_runs(of_runs, name=RUNS_TABLE).by_id,
    )
    for recording in recordings:
        absent = _absent(recording, tables)
        if absent:
            raise ArchiveError(f"{source.title}: {absent}. Get the archive again.")
    return tables


def _absent(recording: Recording, tables: Tables) -> str | None:
    """If the tables lack a row for a recording, returns a text that states what is missing. Returns
    None if nothing is missing.
    """
    if recording.subject not in tables.people:
        return f"{recording.member} is a run of {recording.subject}, who is not in {PEOPLE_TABLE}"
    if recording.id_of_run not in tables.runs:
        return f"{recording.member} has a run that is not in {RUNS_TABLE}"
    runs = tables.people[recording.subject].runs
    if int(recording.run) > runs:
        return (
            f"{PEOPLE_TABLE} states {runs} runs of this person, but the archive holds "
            f"{recording.member}"
        )
    return None


def placed_runs(source: Source, recordings: list[Recording], repeats: Repeats) -> dict[str, Place]:
    """Returns a dictionary from the key of each recording to the numbers of its run, sitting and
    day. Runs, sittings and days are numbered separately for each person and device.

    Raises:
        ArchiveError: If recordings of two people have the same samples, so that one of the two
            labels must be wrong.
        FormatError: If a run cannot be read.
    """
    starts: dict[tuple[str, str], dict[str, int]] = {}
    for recording in track(recordings, f"{source.title}: reading the start times of the runs"):
        run = _run(source, recording)
        repeats.add(run.sequence, recording.key, recording.subject)
        owner = recording.subject, recording.device
        starts.setdefault(owner, {})[recording.key] = int(run.time_ms[0])
    repeats.report()
    return {key: place for group in starts.values() for key, place in places(group).items()}


def _run(source: Source, recording: Recording) -> sp_sw_har.Run:
    return sp_sw_har.parse(source.open(recording.member), name=recording.member)
