"""Nine speakers saying /ae/, as LPC cepstra (Kudo et al. 1999)."""

from __future__ import annotations

import collections

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common.archive import Source
from tfds_builders.common.builder import AloneMixin
from tfds_builders.common.checks import origins
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted, find_config
from tfds_builders.common.limits import Limits
from tfds_builders.parsers import vowels

_LIMITS = Limits(members=100, member_bytes=8 << 20, total_bytes=64 << 20)
_UCI = (
    "Get the archive from https://doi.org/10.24432/C5NS47 (0.4 MB, CC BY 4.0), put it into the "
    "manual folder as it is, and run `python -m tfds_builders.build japanese_vowels_lpc "
    "--manual-dir FOLDER`."
)
_TS = (
    "Get JapaneseVowels.zip from https://www.timeseriesclassification.com, put it into the "
    "manual folder as it is, and run `python -m tfds_builders.build japanese_vowels_lpc/ts "
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

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = _UCI
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
                    "subject": tfds.features.Text(),
                    "label": tfds.features.ClassLabel(names=speakers),
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
        self.info.metadata.update(
            **origins(self.name, sources),
            subjects={
                split: [str(s) for s in sorted(set(part.speakers))] for split, part in parts.items()
            },
        )
        return {split: self._generate_examples(part, split) for split, part in parts.items()}

    def _generate_examples(self, part, split):
        within = collections.Counter()
        for sequence, speaker in zip(part.sequences, part.speakers, strict=True):
            within[speaker] += 1
            key = f"{split}/{speaker}/{within[speaker]:02d}"
            yield (
                key,
                {"id": key, "sequence": sequence, "subject": str(speaker), "label": speaker - 1},
            )


def utterances(source: Source, file: str, split: str) -> vowels.Utterances:
    """Reads one part; in UCI's form the speakers follow from the order and the official counts.

    A file `size_ae.*` beside it states the counts itself and is then believed.

    Raises:
        ArchiveError: When the file is not in the archive.
        FormatError: When it cannot be read, or has another number of utterances.
    """
    found = {name.rsplit("/", 1)[-1].lower(): name for name in source.names}
    if file.lower() not in found:
        padded = (
            " The padded .arff form is not read: padding changes the distribution."
            if any(name.endswith(".arff") for name in found)
            else ""
        )
        raise ArchiveError(
            f"{source.title} holds no {file}; it holds "
            f"{', '.join(source.names[:8]) or 'nothing'}.{padded}"
        )
    part = vowels.parse(source.open(found[file.lower()]), name=file)
    if part.speakers is not None:
        return part
    sizes = vowels.SIZES[split]
    if f"size_{file}" in found:
        sizes = vowels.parse_sizes(source.open(found[f"size_{file}"]), name=f"size_{file}")
    speakers = vowels.speakers_by_order(len(part.sequences), sizes, name=file)
    return vowels.Utterances(part.sequences, speakers)
