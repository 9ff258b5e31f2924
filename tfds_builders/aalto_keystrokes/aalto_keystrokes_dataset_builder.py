"""Data set with the keystrokes of 168,000 people who typed 15 sentences each (Dhakal2018)."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Iterator, Set
from typing import NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.aalto_keystrokes.channels import CHANNELS, TIMES, channels
from tfds_builders.common import people
from tfds_builders.common.archive import Source
from tfds_builders.common.builder import About, Example, Plan, RecordingsBuilder, divided
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits
from tfds_builders.common.repeats import Contents, Repeats
from tfds_builders.common.sittings import places
from tfds_builders.common.splits import by_subject
from tfds_builders.parsers import keystrokes

FRACTIONS = {"train": 0.6, "validation": 0.1, "test": 0.3}
SUBJECTS, SENTENCES = 168_000, 15  # the paper rounds the number of people
DEVICE = "keyboard"
_GET = (
    "Get Keystrokes.zip from https://userinterfaces.aalto.fi/136Mkeystrokes (1.4 GB, not for "
    "commercial use). Put the zip file into the manual folder. Then run `python -m "
    "tfds_builders.build aalto_keystrokes --manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="aalto_keystrokes",
    stems=("Keystrokes", "aalto_keystrokes_subset"),
    loose=r"\d+_keystrokes\.txt",
    official="Keystrokes.zip",
    get=_GET,
    limits=Limits(members=200_000, member_bytes=16 << 20, total_bytes=32 << 30),
)


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Configuration that selects sentences.

    Attributes:
        is_divided: Whether sentences of `train` are left out of `validation` and `test`, and the
            other sentences are left out of `train`.
    """

    is_divided: bool = False


class Recording(NamedTuple):
    """A participant and the path of the participant's file in the archive."""

    subject: str
    member: str


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `aalto_keystrokes`."""

    ABOUT = About(
        people=SUBJECTS,
        size=f"{SENTENCES} sentences a person, 1.4 GB",
        license="non-commercial use",
        archives=WANTED,
    )
    HOMEPAGE = "https://userinterfaces.aalto.fi/136Mkeystrokes"
    ARCHIVE_KEY = "keystrokes"
    ON_BEAM = True
    BUILDER_CONFIGS = [
        Config(name="sentences", description="All sentences."),
        Config(
            name="new_sentences",
            description="`train` has one half of the sentences, `validation` and `test` have the "
            "other half.",
            is_divided=True,
        ),
    ]

    def features(self) -> dict:
        def packed(shape, dtype):
            return tfds.features.Tensor(shape=shape, dtype=dtype, encoding="bytes")

        return {
            "sequence": packed((None, len(CHANNELS)), np.float32),
            "valid": packed((None, len(TIMES)), np.uint8),
            "keys": packed((None,), np.int32),
            "press_ms": packed((None,), np.int64),
            "release_ms": packed((None,), np.int64),
            "text": tfds.features.Text(),
            "typed": tfds.features.Text(),
            "section": np.int64,
            "number": np.int32,
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        recordings = recordings_of(source)
        subjects = by_subject((recording.subject for recording in recordings), FRACTIONS)
        counts = {"people": (len(recordings), SUBJECTS)}
        self.warn_of_part(source, "the 136M Keystrokes", counts, divided=counts)
        learners = frozenset(subjects["train"]) if self.builder_config.is_divided else None
        return Plan(
            divided(recordings, subjects),
            functools.partial(examples_of, source=source, learners=learners),
            "participants",
            Repeats(source.title, "participants", "kept"),
            subjects=subjects,
            metadata={"channels": list(CHANNELS), "rate_hz": None},
        )


def recordings_of(source: Source) -> list[Recording]:
    """Returns the participants of an archive, in the order of their ids.

    Raises:
        ArchiveError: If the archive has no participant, or two files of the same participant.
    """
    members = source.index(r"(\d+)_keystrokes\.txt")
    if not members:
        raise ArchiveError(
            f"{source.title} holds no files such as 1002_keystrokes.txt. It holds "
            f"{source.first_names}. {_GET}"
        )
    recordings = [Recording(subject, member) for (subject,), member in members.items()]
    return sorted(recordings, key=lambda recording: int(recording.subject))


def examples_of(
    recording: Recording,
    repeats: Repeats | Contents,
    source: Source,
    learners: Set[str] | None,
) -> Iterator[Example]:
    """Yields one example for each sentence that a participant typed, in the order of time.

    Args:
        recording: The participant.
        repeats: The key presses of participants who were read before.
        source: The archive.
        learners: Ids of the people in `train`, who get only sentences of `is_for_training`. Other
            people get only the other sentences. If None, all people get all sentences.

    Raises:
        ArchiveError: If the file has the key presses of another participant, or if two
            participants have the same key presses.
        FormatError: If the file cannot be read.
    """
    member, subject = recording.member, recording.subject
    participant = keystrokes.parse(source.open(member), name=member)
    if participant.subject != subject:
        raise ArchiveError(
            f"{source.title}: {member} has the key presses of participant {participant.subject}, "
            f"expected participant {subject}. Get the archive again, or remove the file."
        )
    sentences = {sentence.section: sentence for sentence in participant.sentences}
    presses = np.concatenate([sentence.press_ms for sentence in sentences.values()])
    repeats.add(presses, subject, subject)
    starts = {section: int(sentence.press_ms[0]) for section, sentence in sentences.items()}
    for section, place in places(starts).items():
        sentence = sentences[section]
        if learners is not None and is_for_training(sentence.text) != (subject in learners):
            continue
        sequence, valid = channels(sentence.press_ms, sentence.release_ms, sentence.keys)
        yield (
            f"{subject}/{section}",
            {
                "sequence": sequence,
                "valid": valid,
                **vars(sentence),
                "number": place.walk,
                **people.record(subject, session=place.session, day=place.day, device=DEVICE),
            },
        )


def is_for_training(text: str) -> bool:
    """Returns whether the config `new_sentences` uses a sentence in `train`. A hash of the sentence
    decides, so the decision does not depend on the other sentences. The hash selects about half of
    all sentences.
    """
    return hashlib.sha256(text.encode()).digest()[0] < 128
