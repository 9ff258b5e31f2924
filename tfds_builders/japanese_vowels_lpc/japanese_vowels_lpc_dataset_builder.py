"""Nine speakers saying /ae/, as LPC cepstra (Kudo1999)."""

from __future__ import annotations

import collections
from collections.abc import Iterator

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.about import About
from tfds_builders.common.builder import AloneMixin
from tfds_builders.common.checks import origins
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted, find_config
from tfds_builders.common.limits import Limits
from tfds_builders.common.parts import tell_part
from tfds_builders.common.repeats import Repeats
from tfds_builders.common.source import Source
from tfds_builders.parsers import vowels

_LIMITS = Limits(members=100, member_bytes=8 << 20, total_bytes=64 << 20)
_UCI = (
    "Get the archive from https://doi.org/10.24432/C5NS47 (0.4 MB, CC BY 4.0), put it into the "
    "manual folder as it is, and run `python -m tfds_builders.build japanese_vowels_lpc "
    "--manual-dir FOLDER`."
)
_TS = (
    "Get JapaneseVowels.zip from https://www.timeseriesclassification.com, put it into the "
    "manual folder as it is, and run `python -m tfds_builders.build japanese_vowels_lpc "
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


class Builder(AloneMixin, tfds.core.GeneratorBasedBuilder):
    """Builder of `japanese_vowels_lpc`."""

    VERSION = tfds.core.Version("1.1.0")
    RELEASE_NOTES = {
        "1.1.0": "`session`, `day` and `device`.",
        "1.0.0": "First release.",
    }
    MANUAL_DOWNLOAD_INSTRUCTIONS = _UCI
    ABOUT = About(
        people=vowels.SPEAKERS, size="640 utterances, 0.4 MB", license="CC BY 4.0", archives=CONFIGS
    )
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(name="uci", description="From ae.train and ae.test."),
        tfds.core.BuilderConfig(
            name="ts", description="From JapaneseVowels_TRAIN.ts and _TEST.ts."
        ),
    ]

    def _info(self):
        speakers = [str(speaker) for speaker in range(1, vowels.SPEAKERS + 1)]
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "id": tfds.features.Text(),
                    "sequence": tfds.features.Tensor(
                        shape=(None, vowels.CHANNELS), dtype=np.float32
                    ),
                    "label": tfds.features.ClassLabel(names=speakers),
                    **people.features(),
                }
            ),
            supervised_keys=("sequence", "label"),
            homepage="https://doi.org/10.24432/C5NS47",
            metadata=tfds.core.MetadataDict(),
        )

    def sources(self, manual_dir) -> dict[str, Source]:
        """Finds the config's archive.

        Raises:
            ArchiveError: When it is missing or cannot be opened.
        """
        config = self.builder_config.name
        return {config: find_config(manual_dir, CONFIGS, config)}

    def _split_generators(self, dl_manager):
        sources = self.sources(dl_manager.manual_dir)
        (source,) = sources.values()
        config = self.builder_config.name
        parts = {split: utterances(source, file, split) for split, file in FILES[config].items()}
        held = {
            f"utterances of `{split}`": (len(part.sequences), sum(vowels.SIZES[split]))
            for split, part in parts.items()
        }
        tell_part(self.info, source.title, "the official archive", held)
        self.info.metadata.update(
            **origins(self.name, sources),
            same_as=repeated(source, parts, FILES[config]),
            subjects={
                split: [str(s) for s in sorted(set(part.speakers))] for split, part in parts.items()
            },
        )
        return {split: self._generate_examples(part, split) for split, part in parts.items()}

    def _generate_examples(self, part, split):
        for key, sequence, speaker in numbered(part, split):
            yield (
                key,
                {
                    "id": key,
                    "sequence": sequence,
                    "label": speaker - 1,
                    **people.record(str(speaker)),
                },
            )


def numbered(part: vowels.Utterances, split: str) -> Iterator[tuple[str, np.ndarray, int]]:
    """Returns id, frames and speaker of each utterance, numbered within split and speaker."""
    within = collections.Counter()
    for sequence, speaker in zip(part.sequences, part.speakers, strict=True):
        within[speaker] += 1
        yield f"{split}/{speaker}/{within[speaker]:02d}", sequence, speaker


def repeated(
    source: Source, parts: dict[str, vowels.Utterances], files: dict[str, str]
) -> dict[str, str]:
    """Finds utterances with the very frames of an earlier one.

    Returns:
        The first utterance with the same frames, by utterance.

    Raises:
        ArchiveError: When both splits, or two speakers, have the same frames.
    """
    repeats = Repeats(source.title, "utterances", "kept")
    for split, part in parts.items():
        for key, sequence, speaker in numbered(part, split):
            repeats.add(sequence, key, f"{files[split]}, speaker {speaker}")
    repeats.report()
    return repeats.same_as


def utterances(source: Source, file: str, split: str) -> vowels.Utterances:
    """Reads one part; in UCI's form the speakers follow from the order and the official counts.

    A file `size_ae.*` beside it states the counts itself and is then believed.

    Raises:
        ArchiveError: When the file is not in the archive, or twice.
        FormatError: When it cannot be read, or has another number of utterances.
    """
    member, sized = _member(source, file), _member(source, f"size_{file}")
    if member is None:
        padded = (
            " The padded .arff form is not read: padding changes the distribution."
            if any(name.endswith(".arff") for name in source.names)
            else ""
        )
        raise ArchiveError(
            f"{source.title} holds no {file}; it holds "
            f"{', '.join(source.names[:8]) or 'nothing'}.{padded}"
        )
    part = vowels.parse(source.open(member), name=file)
    if part.speakers is not None:
        return part
    sizes = vowels.SIZES[split]
    if sized is not None:
        sizes = vowels.parse_sizes(source.open(sized), name=f"size_{file}")
    speakers = vowels.speakers_by_order(len(part.sequences), sizes, name=file)
    return vowels.Utterances(part.sequences, speakers)


def _member(source: Source, file: str) -> str | None:
    """The member of that name, in any folder and of any case."""
    found = [name for name in source.names if name.rsplit("/", 1)[-1].lower() == file.lower()]
    if len(found) > 1:
        raise ArchiveError(
            f"{source.title} holds {file} twice: {found[0]} and {found[1]}. Keep one of the two."
        )
    return found[0] if found else None
