"""Data set of 83 people who read lines of digits over the telephone (Hyke, Reda2011)."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import audio, people
from tfds_builders.common.archive import Source
from tfds_builders.common.builder import About, Example, Plan, RecordingsBuilder, divided
from tfds_builders.common.errors import ArchiveError, quoted
from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits
from tfds_builders.hyke_voice.splits import SPLITS, split_voices

log = logging.getLogger("tfds_builders")

SEXES = {"F": "female", "M": "male"}
VOICES, LINES = 83, 5
RATE_HZ = 8_000
_NAME = r"(\d+)_(\d)\.wav"
_MEMBER = rf"(?:.*/)?(?:fe)?male_audio/([FM])_(\d+)/{_NAME}"
_GET = (
    "Get the folders female_audio and male_audio (39 MB) of the authors' data set, which are "
    "also in audio_data of https://github.com/klchang/SpeakerRecognition. Put the folders "
    "into the manual folder, unpacked or packed as hyke_audio.tar.xz or hyke_audio.zip. Then "
    "run `python -m tfds_builders.build hyke_voice --manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="hyke_voice",
    stems=("hyke_audio", "audio_data"),
    loose=r"(fe)?male_audio",
    official="hyke_audio.tar.xz",
    get=_GET,
    limits=Limits(members=5_000, member_bytes=8 << 20, total_bytes=1 << 30),
)


class Recording(NamedTuple):
    """One recording, described by the parts of its file name and the path of the file in the
    archive.
    """

    sex: str
    subject: str
    line: int
    member: str

    @property
    def file(self) -> str:
        """Path of the file, beginning with the folder of the voice."""
        return "/".join(self.member.split("/")[-2:])

    @property
    def owner(self) -> str:
        return f"voice {self.subject}"


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `hyke_voice`."""

    VERSION = tfds.core.Version("2.0.0")
    RELEASE_NOTES = {
        "2.0.0": "Adds `session`, `day` and `device`. `voice` is now `subject`.",
        "1.0.0": "First release.",
    }
    ABOUT = About(
        people=VOICES,
        size=f"{VOICES * LINES} recordings, 39 MB",
        license="none is stated",
        archives=WANTED,
    )
    HOMEPAGE = "https://github.com/klchang/SpeakerRecognition"
    ARCHIVE_KEY = "audio"
    BUILDER_CONFIGS = [
        audio.Config(
            name="telephone8k",
            description="The 16 bit samples of the files, at 8 kHz.",
            rate_hz=RATE_HZ,
        ),
        audio.Config(
            name="speech16k",
            description="Recordings resampled to 16 kHz, with values in [-1, 1].",
            rate_hz=16_000,
        ),
    ]

    def features(self) -> dict:
        return {
            **audio.features(self.builder_config.rate_hz, RATE_HZ),
            "sex": tfds.features.ClassLabel(names=list(SEXES.values())),
            "line": np.int32,
            "file": tfds.features.Text(),
            "same_as": tfds.features.Text(),
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        recordings = recordings_of(source)
        subjects = split_voices(recording.subject for recording in recordings)
        voices = sum(map(len, subjects.values()))
        counts = {"recordings": (len(recordings), VOICES * LINES), "voices": (voices, VOICES)}
        self.warn_of_part(source, "Hyke", counts)
        absent = [split for split in SPLITS if split not in subjects]
        if absent:
            log.warning(
                "%s holds no voice of the splits %s, so these splits are left out.",
                source.title, " and ".join(absent),
            )  # fmt: skip
        same_as = audio.repeated(source, recordings)
        rate_hz = self.builder_config.rate_hz
        return Plan(
            divided(recordings, subjects),
            functools.partial(examples_of, source=source, rate_hz=rate_hz, same_as=same_as),
            subjects=subjects,
            metadata={"rate_hz": rate_hz, "same_as": same_as},
        )


def examples_of(
    recording: Recording, _: object, source: Source, rate_hz: int, same_as: dict[str, str]
) -> Iterator[Example]:
    """Yields the example of a recording, resampled to `rate_hz`."""
    yield (
        recording.file[: -len(".wav")],
        {
            **audio.record(source, recording.member, RATE_HZ, rate_hz),
            "sex": recording.sex,
            "line": recording.line,
            "file": recording.file,
            "same_as": same_as.get(recording.file, ""),
            **people.record(recording.subject, session=0, day=0),
        },
    )


def recordings_of(source: Source) -> list[Recording]:
    """Returns the recordings of an archive, in the order of their names.

    Raises:
        ArchiveError: If the archive has no recording, if a file name does not match the voice of
            its folder, or if a voice is in both folders.
    """
    wavs = [name for name in source.names if name.lower().endswith(".wav")]
    if not wavs:
        names = source.first_names
        raise ArchiveError(
            f"{source.title} holds no female_audio/F_….wav and no male_audio/M_….wav. It holds "
            f"{names}. {_GET}"
        )
    source.index(f"(?i:{_NAME})")  # raises an error for equal names in two folders
    recordings = sorted(_recording(name, source) for name in wavs)
    sexes = {}
    for recording in recordings:
        if sexes.setdefault(recording.subject, recording.sex) != recording.sex:
            raise ArchiveError(
                f"{source.title}: {recording.owner} has recordings in female_audio and in "
                "male_audio. Remove the recordings from one of the folders."
            )
    return recordings


def _recording(member: str, source: Source) -> Recording:
    match = re.fullmatch(_MEMBER, member, re.IGNORECASE)
    letter, folder, voice, line = match.groups() if match else ("", "", "", "0")
    if folder != voice or not 1 <= int(line) <= LINES:
        raise ArchiveError(
            f"{source.title}: {quoted(member)} is not a recording of Hyke. Recordings are named "
            f"female_audio/F_<voice>/<voice>_<line>.wav, with a line from 1 to {LINES}. Remove the "
            "file."
        )
    return Recording(SEXES[letter.upper()], voice, int(line), member)
