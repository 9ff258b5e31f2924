"""Data set with the movement of older people over three days and during a walk in a lab (LTMM,
Weiss2013; Ihlen2015).
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
from tfds_builders.common.builder import About, Plan, RecordingsBuilder
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits
from tfds_builders.common.repeats import Contents, Repeats
from tfds_builders.common.splits import by_subject
from tfds_builders.ltmm_gait.activity import minute_figures, most_active
from tfds_builders.parsers import wfdb16

FRACTIONS = {
    "train": 0.4,
    "validation": 0.1,
    "test": 0.5,
}  # fractions that give 36 and 35 people (Abdelwahab2019)
SUBJECTS = 71
RATE_HZ = 100
MINUTE = 60 * RATE_HZ
DAY = 24 * 60 * MINUTE
CHANNELS = {
    "v-acceleration": "g", "ml-acceleration": "g", "ap-acceleration": "g",
    "yaw-velocity": "deg/s", "pitch-velocity": "deg/s", "roll-velocity": "deg/s",
}  # fmt: skip
GROUPS = {"CO": "control", "FL": "faller"}
SEXES = {"F": "female", "M": "male"}
DEVICE = "DynaPort"
_HOME, _LAB = r"(CO|FL)(\d{3})\.hea", r"(co|fl)(\d{3})_base\.hea"
_GET = (
    "Get the archive (20.8 GB) from https://physionet.org/content/ltmm/1.0.0/. The config "
    "ltmm_gait/lab needs only the folder LabWalks. Put the zip file, or the folder with "
    "CO001.hea, into the manual folder. Then run `python -m tfds_builders.build ltmm_gait "
    "--manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="ltmm_gait",
    stems=("long-term-movement-monitoring-database-1.0.0", "ltmm-1.0.0", "ltmm"),
    loose=rf"{_HOME}|LabWalks",
    official="long-term-movement-monitoring-database-1.0.0.zip",
    get=_GET,
    limits=Limits(members=2_000, member_bytes=1 << 30, total_bytes=64 << 30),
)


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Configuration that selects the recordings and their minutes.

    Attributes:
        lab: If True, each record is a whole walk in the lab. If False, each record is a minute from
            the three days.
        active: Number of minutes that are selected per person: the minutes with the largest
            standard deviation. None selects every minute.
        scaled: Whether each channel is divided by its standard deviation in the whole recording
            before minutes are compared.
    """

    lab: bool = False
    active: int | None = None
    scaled: bool = True


class Recording(NamedTuple):
    """One recording, described by the person and the path of the header file in the archive."""

    subject: str
    member: str

    @property
    def group(self) -> str:
        return GROUPS[self.subject[:2]]


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `ltmm_gait`."""

    ABOUT = About(
        people=SUBJECTS,
        size="3 days each, 20.8 GB",
        license="Open Data Commons Attribution 1.0, unconfirmed",
        archives=WANTED,
    )
    HOMEPAGE = "https://physionet.org/content/ltmm/1.0.0/"
    ON_BEAM = True
    SUPERVISED_KEYS = ("sequence", "group")
    BUILDER_CONFIGS = [
        Config(
            name="active30", description="The 30 most active minutes of each person.", active=30
        ),
        Config(
            name="active30_raw",
            description="The 30 most active minutes of each person. To find these minutes, "
            "channels are compared in the units of the files.",
            active=30,
            scaled=False,
        ),
        Config(name="minutes", description="Every minute of the three days (44 GB)."),
        Config(name="lab", description="One walk per person in the laboratory.", lab=True),
    ]

    def features(self) -> dict:
        return {
            "sequence": tfds.features.Tensor(
                shape=(None, len(CHANNELS)), dtype=np.float32, encoding="bytes"
            ),
            "start_sample": np.int64,
            "group": tfds.features.ClassLabel(names=list(GROUPS.values())),
            "age": np.float32,
            "sex": tfds.features.Text(),
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        home, lab = recordings_of(source, _HOME), recordings_of(source, _LAB)
        recordings = lab if self.builder_config.lab else home
        if not recordings:
            example = "LabWalks/co001_base.hea" if self.builder_config.lab else "CO001.hea"
            raise ArchiveError(
                f"{source.title} holds no recording such as {example}. It holds "
                f"{source.first_names}. {_GET}"
            )
        counts = {"recordings of three days": (len(home), SUBJECTS)}
        self.warn_of_part(source, "LTMM", counts, divided=counts)
        check_samples(source, recordings)
        subjects = subjects_of(home, lab)
        splits = {
            split: [recordings[subject] for subject in ids if subject in recordings]
            for split, ids in subjects.items()
        }
        return Plan(
            {split: part for split, part in splits.items() if part},
            functools.partial(examples_of, source=source, config=self.builder_config),
            "people",
            Repeats(source.title, "recordings", "kept"),
            subjects=subjects,
            metadata={
                "channels": list(CHANNELS),
                "units": list(CHANNELS.values()),
                "rate_hz": RATE_HZ,
            },
        )


def examples_of(
    recording: Recording, repeats: Repeats | Contents, source: Source, config: Config
) -> Iterator[tuple[str, dict]]:
    """Yields the examples of a recording.

    Raises:
        ArchiveError: If two people have the same recording.
        FormatError: If the recording cannot be read.
    """
    subject = recording.subject
    header = header_of(source, recording.member)
    digital = _digital(source, recording.member, header)
    repeats.add(digital, recording.member, subject)
    for key, start, sequence in _windows(subject, digital, header, config):
        yield (
            key,
            {
                "sequence": sequence,
                "start_sample": start,
                "group": recording.group,
                "age": _age(header),
                "sex": SEXES.get(header.notes.get("sex", "").upper()[:1], ""),
                **people.record(
                    subject,
                    session=people.UNKNOWN if config.lab else 0,
                    day=people.UNKNOWN if config.lab else start // DAY,
                    device=DEVICE,
                ),
            },
        )


def _windows(subject, digital, header, config) -> Iterator[tuple[str, int, np.ndarray]]:
    """Yields each part of a recording that the config selects: its key, the index of its first
    sample, and its values.
    """
    if config.lab:
        yield subject, 0, _values(digital, header)
        return
    minutes = np.arange(len(digital) // MINUTE)
    if config.active is not None and len(minutes):
        every = (_values(_minute(digital, at), header) for at in minutes)
        minutes = most_active(*minute_figures(every), config.active, config.scaled)
    for at in map(int, minutes):
        yield f"{subject}/{at:04d}", at * MINUTE, _values(_minute(digital, at), header)


def recordings_of(source: Source, pattern: str) -> dict[str, Recording]:
    """Returns a dictionary from the subject, such as `CO001`, to the recording, for all recordings
    whose header file matches `pattern`.
    """
    members = {
        f"{group}{number}".upper(): member
        for (group, number), member in source.index(pattern).items()
    }
    return {subject: Recording(subject, member) for subject, member in members.items()}


def check_samples(source: Source, recordings: dict[str, Recording]) -> None:
    """Checks that no recording lacks samples. The builder checks the samples before it prepares the
    recordings, because preparing them takes hours.

    Raises:
        FormatError: If samples are missing. The error names the file.
    """
    sizes = source.sizes
    for recording in recordings.values():
        header = header_of(source, recording.member)
        name = _samples_of(recording.member, header)
        if name not in sizes:
            raise FormatError(
                recording.member, "", "the header has no samples", f"the samples in {name}",
                "Get the file from PhysioNet, or remove the header.",
            )  # fmt: skip
        wfdb16.check_bytes(sizes[name], header, name=name)


def _samples_of(member: str, header: wfdb16.Header) -> str:
    """Returns the path of the file with the samples that a header describes."""
    folder, slash, _ = member.rpartition("/")
    return f"{folder}{slash}{header.file}"


def subjects_of(home: dict[str, Recording], lab: dict[str, Recording]) -> dict[str, list[str]]:
    """Divides people into splits that are the same for all configs.

    For people with a recording of three days, a hash of the id determines the split. People with a
    walk in the lab, but without a recording of three days, are in `test`.
    """
    splits = by_subject(home or lab, FRACTIONS)
    return {
        split: [*ids, *(sorted(set(lab) - set(home)) if home and split == "test" else ())]
        for split, ids in splits.items()
    }


def header_of(source: Source, member: str) -> wfdb16.Header:
    """Reads a header.

    Raises:
        FormatError: If the header states other signals, other units or another rate than the data
            set has.
    """
    header = wfdb16.parse_header(source.open(member), name=member)
    signals = [(signal.name, signal.unit) for signal in header.signals]
    if sorted(signals) != sorted(CHANNELS.items()) or header.rate_hz != RATE_HZ:
        odd = [f"{name} in {unit}" for name, unit in signals if CHANNELS.get(name) != unit]
        raise FormatError(
            member, "",
            f"the recording has {', '.join(odd[:3]) or f'{len(signals)} signals'} "
            f"at {header.rate_hz:g} Hz",
            f"{', '.join(f'{name} in {unit}' for name, unit in CHANNELS.items())} at {RATE_HZ} Hz",
            "The file is not a recording of LTMM 1.0.0. Remove it.",
        )  # fmt: skip
    return header


def _digital(source: Source, member: str, header: wfdb16.Header) -> np.ndarray:
    name = _samples_of(member, header)
    return wfdb16.samples(source.view(name), header, name=name)


def _minute(digital: np.ndarray, at: int) -> np.ndarray:
    return digital[at * MINUTE : (at + 1) * MINUTE]


def _values(digital: np.ndarray, header: wfdb16.Header) -> np.ndarray:
    """Returns the samples in physical units, with the channels in the order of `CHANNELS`."""
    names = [signal.name for signal in header.signals]
    return wfdb16.physical(digital, header)[:, [names.index(channel) for channel in CHANNELS]]


def _age(header: wfdb16.Header) -> float:
    try:
        return float(header.notes.get("age", ""))
    except ValueError:
        return float("nan")
