"""Data set with LPC cepstra of nine speakers who say /ae/ (Kudo1999)."""

from __future__ import annotations

import collections
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
from tfds_builders.common.repeats import Repeats
from tfds_builders.parsers import vowels

_LIMITS = Limits(members=100, member_bytes=8 << 20, total_bytes=64 << 20)
_UCI = (
    "Get the archive (0.4 MB, CC BY 4.0) from https://doi.org/10.24432/C5NS47. Put the "
    "archive into the manual folder. Then run `python -m tfds_builders.build "
    "japanese_vowels_lpc --manual-dir FOLDER`."
)
_TS = (
    "Get JapaneseVowels.zip from https://www.timeseriesclassification.com. Put the zip file "
    "into the manual folder. Then run `python -m tfds_builders.build japanese_vowels_lpc "
    "--manual-dir FOLDER`."
)
CONFIGS = {
    "uci": Wanted(
        dataset="japanese_vowels_lpc",
        stems=("japanese+vowels", "japanese_vowels", "japanese_vowels_uci"),
        official="japanese+vowels.zip",
        get=_UCI,
        loose=r"ae\.(train|test)",
        limits=_LIMITS,
    ),
    "ts": Wanted(
        dataset="japanese_vowels_lpc",
        stems=("JapaneseVowels",),
        official="JapaneseVowels.zip",
        get=_TS,
        loose=r"JapaneseVowels_(TRAIN|TEST)\.ts",
        limits=_LIMITS,
    ),
}
FILES = {
    "uci": {"train": "ae.train", "test": "ae.test"},
    "ts": {"train": "JapaneseVowels_TRAIN.ts", "test": "JapaneseVowels_TEST.ts"},
}


class Utterance(NamedTuple):
    """One utterance, with its key, its speaker and its frames."""

    key: str
    subject: str
    sequence: np.ndarray


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `japanese_vowels_lpc`."""

    VERSION = tfds.core.Version("1.1.0")
    RELEASE_NOTES = {
        "1.1.0": "Adds `session`, `day` and `device`.",
        "1.0.0": "First release.",
    }
    ABOUT = About(
        people=vowels.SPEAKERS, size="640 utterances, 0.4 MB", license="CC BY 4.0", archives=CONFIGS
    )
    HOMEPAGE = "https://doi.org/10.24432/C5NS47"
    ARCHIVE_KEY = None
    SUPERVISED_KEYS = ("sequence", "label")
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(
            name="uci", description="Utterances from the files ae.train and ae.test."
        ),
        tfds.core.BuilderConfig(
            name="ts",
            description="Utterances from JapaneseVowels_TRAIN.ts and JapaneseVowels_TEST.ts.",
        ),
    ]

    def features(self) -> dict:
        speakers = [str(speaker) for speaker in range(1, vowels.SPEAKERS + 1)]
        return {
            "sequence": tfds.features.Tensor(shape=(None, vowels.CHANNELS), dtype=np.float32),
            "label": tfds.features.ClassLabel(names=speakers),
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        (source,) = sources.values()
        files = FILES[self.builder_config.name]
        parts = {split: utterances(source, file, split) for split, file in files.items()}
        counts = {
            f"utterances of `{split}`": (len(part), sum(vowels.SIZES[split]))
            for split, part in parts.items()
        }
        self.warn_of_part(source, "the official archive", counts)
        return Plan(
            parts,
            examples_of,
            "utterances",
            subjects={split: sorted({each.subject for each in part})
                      for split, part in parts.items()},
            metadata={"same_as": repeated(source, parts, files)},
            is_independent=False,  # the utterances are already in memory
        )  # fmt: skip


def examples_of(utterance: Utterance, _: object) -> Iterator[Example]:
    """Yields the example of an utterance."""
    key, subject, sequence = utterance
    label = int(subject) - 1
    yield key, {"sequence": sequence, "label": label, **people.record(subject)}


def repeated(
    source: Source, parts: dict[str, list[Utterance]], files: dict[str, str]
) -> dict[str, str]:
    """Finds utterances with the same frames as an earlier utterance.

    Returns:
        A mapping from each repeated utterance to the first utterance with the same frames.

    Raises:
        ArchiveError: If two splits or two speakers have the same frames.
    """
    repeats = Repeats(source.title, "utterances", "kept")
    for split, part in parts.items():
        for key, subject, sequence in part:
            repeats.add(sequence, key, f"{files[split]}, speaker {subject}")
    repeats.report()
    return repeats.same_as


def utterances(source: Source, file: str, split: str) -> list[Utterance]:
    """Reads the utterances of a split, and numbers the utterances of each speaker.

    In the files from UCI, the speaker of an utterance follows from the order of the utterances and
    from the official number of utterances per speaker. If the archive has a file `size_ae.*`, its
    numbers replace the official numbers.

    Raises:
        ArchiveError: If the archive does not contain the file, or if it contains the file twice.
        FormatError: If the file cannot be read, or if its number of utterances is not the expected
            number.
    """
    member, member_of_sizes = _member(source, file), _member(source, f"size_{file}")
    if member is None:
        padded = (
            " Files in the padded .arff format are not read, because padding changes the values."
            if any(name.endswith(".arff") for name in source.names)
            else ""
        )
        raise ArchiveError(
            f"{source.title} holds no {file}. It holds "
            f"{', '.join(source.names[:8]) or 'nothing'}.{padded}"
        )
    part = vowels.parse(source.open(member), name=file)
    speakers = part.speakers
    if speakers is None:
        sizes = vowels.SIZES[split]
        if member_of_sizes is not None:
            sizes = vowels.parse_sizes(source.open(member_of_sizes), name=f"size_{file}")
        speakers = vowels.speakers_by_order(len(part.sequences), sizes, name=file)
    counts = collections.Counter()
    result = []
    for sequence, speaker in zip(part.sequences, speakers, strict=True):
        counts[speaker] += 1
        key = f"{split}/{speaker}/{counts[speaker]:02d}"
        result.append(Utterance(key, str(speaker), sequence))
    return result


def _member(source: Source, file: str) -> str | None:
    """Returns the member with a given file name. The member may be in any folder, and upper and
    lower case do not matter.
    """
    members = [name for name in source.names if name.rsplit("/", 1)[-1].lower() == file.lower()]
    if len(members) > 1:
        raise ArchiveError(
            f"{source.title} holds {file} twice: {members[0]} and {members[1]}. Remove one of "
            "the two."
        )
    return members[0] if members else None
