"""Data set of 24 actors who speak two sentences with eight emotions (RAVDESS, Livingstone2018)."""

from __future__ import annotations

import functools
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
from tfds_builders.common.splits import by_subject

FRACTIONS = {"train": 2 / 3, "validation": 1 / 6, "test": 1 / 6}
EMOTIONS = ("neutral", "calm", "happy", "sad", "angry", "fearful", "disgust", "surprised")
INTENSITIES = ("normal", "strong")
SEXES = ("male", "female")
STATEMENTS = ("Kids are talking by the door", "Dogs are sitting by the door")
ACTORS, FILES = 24, 1_440
RATE_HZ = 48_000
_FIELDS = ("modality", "channel", "emotion", "intensity", "statement", "repetition", "actor")
_NAME = r"(\d\d)-(\d\d)-(\d\d)-(\d\d)-(\d\d)-(\d\d)-(\d\d)\.wav"
_RANGES = ((3, 3), (1, 1), (1, len(EMOTIONS)), (1, 2), (1, 2), (1, 2), (1, ACTORS))
_GET = (
    "Get Audio_Speech_Actors_01-24.zip (about 210 MB, CC BY-NC-SA 4.0) from "
    "https://doi.org/10.5281/zenodo.1188976. Put the zip file into the manual folder. Then "
    "run `python -m tfds_builders.build ravdess_speech --manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="ravdess_speech",
    stems=("Audio_Speech_Actors_01-24", "Audio_Speech_Actors_subset"),
    loose=r"Actor_\d\d",
    official="Audio_Speech_Actors_01-24.zip",
    get=_GET,
    limits=Limits(members=10_000, member_bytes=8 << 20, total_bytes=2 << 30),
)


class Utterance(NamedTuple):
    """One recording, described by the parts of its file name and the path of the file in the
    archive.
    """

    actor: int
    emotion: int
    intensity: int
    statement: int
    repetition: int
    member: str

    @property
    def file(self) -> str:
        """Path of the file, beginning with the folder of the actor."""
        return "/".join(self.member.split("/")[-2:])

    @property
    def subject(self) -> str:
        return f"{self.actor:02d}"

    @property
    def owner(self) -> str:
        return f"actor {self.subject}"


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `ravdess_speech`."""

    VERSION = tfds.core.Version("2.0.0")
    RELEASE_NOTES = {
        "2.0.0": "Adds `session`, `day` and `device`. `actor` is now `subject`.",
        "1.0.0": "First release.",
    }
    ABOUT = About(
        people=ACTORS,
        size=f"{FILES:,} recordings, 210 MB",
        license="CC BY-NC-SA 4.0",
        archives=WANTED,
    )
    HOMEPAGE = "https://doi.org/10.5281/zenodo.1188976"
    ARCHIVE_KEY = "speech"
    SUPERVISED_KEYS = ("audio", "emotion")
    BUILDER_CONFIGS = [
        audio.Config(
            name="speech",
            description="The 16 bit samples of the files, at 48 kHz.",
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
            "sex": tfds.features.ClassLabel(names=list(SEXES)),
            "emotion": tfds.features.ClassLabel(names=list(EMOTIONS)),
            "intensity": tfds.features.ClassLabel(names=list(INTENSITIES)),
            "statement": tfds.features.ClassLabel(names=list(STATEMENTS)),
            "repetition": np.int32,
            "file": tfds.features.Text(),
            "same_as": tfds.features.Text(),
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        utterances = utterances_of(source)
        subjects = split_actors({utterance.actor for utterance in utterances})
        counts = {
            "recordings": (len(utterances), FILES),
            "actors": (sum(map(len, subjects.values())), ACTORS),
        }
        self.warn_of_part(source, "RAVDESS's speech", counts, divided=["actors"])
        same_as = audio.repeated(source, utterances)
        rate_hz = self.builder_config.rate_hz
        return Plan(
            divided(utterances, subjects),
            functools.partial(examples_of, source=source, rate_hz=rate_hz, same_as=same_as),
            subjects=subjects,
            metadata={"rate_hz": rate_hz, "same_as": same_as},
        )


def examples_of(
    utterance: Utterance, _: object, source: Source, rate_hz: int, same_as: dict[str, str]
) -> Iterator[Example]:
    """Yields the example of an utterance, resampled to `rate_hz`."""
    yield (
        utterance.file.removesuffix(".wav"),
        {
            **audio.record(source, utterance.member, RATE_HZ, rate_hz),
            "sex": sex_of(utterance.actor),
            "emotion": utterance.emotion - 1,
            "intensity": utterance.intensity - 1,
            "statement": utterance.statement - 1,
            "repetition": utterance.repetition,
            "file": utterance.file,
            "same_as": same_as.get(utterance.file, ""),
            **people.record(utterance.subject),
        },
    )


def sex_of(actor: int) -> str:
    """Returns the sex of an actor. Actors with odd numbers are men."""
    return SEXES[(actor + 1) % 2]


def split_actors(actors: set[int]) -> dict[str, tuple[str, ...]]:
    """Divides the men and, separately, the women into splits, so that every split has men and
    women.

    Raises:
        ValueError: If there are fewer than three men or three women.
    """
    parts = [
        by_subject([f"{actor:02d}" for actor in actors if sex_of(actor) == sex], FRACTIONS)
        for sex in SEXES
    ]
    return {split: tuple(sorted(sum((part[split] for part in parts), ()))) for split in FRACTIONS}


def utterances_of(source: Source) -> list[Utterance]:
    """Returns the recordings of an archive, in the order of their names.

    Raises:
        ArchiveError: If the archive has no recording, or if a file is not named like a recording of
            speech.
    """
    wavs = [name for name in source.names if name.lower().endswith(".wav")]
    if not wavs:
        names = source.first_names
        raise ArchiveError(
            f"{source.title} holds no Actor_NN/03-01-….wav. It holds {names}. {_GET}"
        )
    source.index(_NAME)  # raises an error for equal names in two folders
    return sorted(_utterance(name, source) for name in wavs)


def _utterance(member: str, source: Source) -> Utterance:
    *folders, file = member.split("/")
    match = re.fullmatch(_NAME, file)
    codes = [int(code) for code in match.groups()] if match else []
    odd = [
        f"{field} {code:02d}"
        for field, code, (low, high) in zip(_FIELDS, codes, _RANGES, strict=False)
        if not low <= code <= high
    ]
    if not match:
        odd = ["the name is not seven numbers of two digits"]
    elif codes[2] == 1 and codes[3] == 2:
        odd.append("emotion neutral with strong intensity, which does not exist")
    elif folders[-1:] != [f"Actor_{codes[-1]:02d}"]:
        odd.append(f"not in the folder Actor_{codes[-1]:02d}")
    if odd:
        raise ArchiveError(
            f"{source.title}: {quoted(member)} is not a recording of RAVDESS's speech "
            f"({', '.join(odd)}). Remove the file."
        )
    _, _, emotion, intensity, statement, repetition, actor = codes
    return Utterance(actor, emotion, intensity, statement, repetition, member)
