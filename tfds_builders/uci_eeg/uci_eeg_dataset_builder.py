"""EEG of people with and without alcoholism looking at pictures (Begleiter1999; Zhang1995)."""

from __future__ import annotations

import contextlib
import dataclasses
import logging

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.about import About
from tfds_builders.common.builder import AloneMixin
from tfds_builders.common.checks import origins
from tfds_builders.common.errors import FormatError, MissingArchiveError
from tfds_builders.common.find import find, find_config
from tfds_builders.common.parts import tell_part
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Repeats
from tfds_builders.common.source import Source
from tfds_builders.common.spd import JITTER, covariance
from tfds_builders.common.splits import by_subject
from tfds_builders.parsers import smni
from tfds_builders.uci_eeg.archives import CONFIGS, GET, TEST_OF_LARGE, trial_files, usable_people

log = logging.getLogger("tfds_builders")

FRACTIONS = {"train": 0.4, "validation": 0.1, "test": 0.5}
GROUPS = {"a": "alcoholic", "c": "control"}


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Which of the three archives, and what a record has of its trial.

    Attributes:
        archive: `"full"`, `"large"` or `"small"`.
        people: Number of subjects in the official archive.
        jitter: None for the sequences; for covariance matrices, what is added to the diagonal as a
            fraction of the mean variance.
    """

    archive: str = ""
    people: int = 0
    jitter: float | None = None


def _both(archive: str, people: int, description: str) -> list[Config]:
    """The sequences of an archive, and their covariance matrices."""
    return [
        Config(name=archive, description=description, archive=archive, people=people),
        Config(
            name=f"{archive}_spd64",
            description=f"One 64 x 64 covariance matrix a trial. {description}",
            archive=archive,
            people=people,
            jitter=JITTER,
        ),
    ]


class Builder(AloneMixin, tfds.core.GeneratorBasedBuilder):
    """Builder of `uci_eeg`."""

    VERSION = tfds.core.Version("1.1.0")
    RELEASE_NOTES = {
        "1.1.0": "`session`, `day` and `device`.",
        "1.0.0": "First release.",
    }
    MANUAL_DOWNLOAD_INSTRUCTIONS = GET
    ABOUT = About(
        people=122, size="40 to 120 trials each, 700 MB", license="CC BY 4.0", archives=CONFIGS
    )
    BUILDER_CONFIGS = [
        *_both("full", 122, "122 subjects, splits disjoint by subject."),
        *_both("large", 20, "20 subjects; the official train and test share them."),
        *_both("small", 2, "2 subjects, one split."),
    ]

    def _info(self):
        channels = len(smni.CHANNELS)
        if self.builder_config.jitter is None:
            name, shape, dtype = "sequence", (smni.SAMPLES, channels), np.float32
        else:
            name, shape, dtype = "matrix", (channels, channels), np.float64
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "id": tfds.features.Text(),
                    name: tfds.features.Tensor(shape=shape, dtype=dtype, encoding="bytes"),
                    "group": tfds.features.ClassLabel(names=list(GROUPS.values())),
                    "condition": tfds.features.ClassLabel(names=list(smni.CONDITIONS)),
                    "error": np.bool_,
                    "trial": np.int32,
                    **people.features(),
                }
            ),
            homepage="https://doi.org/10.24432/C5TS3D",
            metadata=tfds.core.MetadataDict(),
        )

    def sources(self, manual_dir) -> dict[str, Source]:
        """Finds the config's archive, and that of the test part of `large` where it is there.

        Raises:
            ArchiveError: When the archive is missing or cannot be opened.
        """
        archive = self.builder_config.archive
        found = {archive: find_config(manual_dir, CONFIGS, archive)}
        if archive == "large":
            with contextlib.suppress(MissingArchiveError):
                found["test"] = find(manual_dir, TEST_OF_LARGE)
        return found

    def _split_generators(self, dl_manager):
        sources = self.sources(dl_manager.manual_dir)
        usable = {key: usable_people(source) for key, source in sources.items()}
        source, *others = sources.values()
        everybody, *_ = usable.values()
        for key, held in usable.items():
            count = {"subjects": (len(held), self.builder_config.people)}
            drawn = count if self.builder_config.archive == "full" else ()
            tell_part(self.info, sources[key].title, "the official archive", count, divided=drawn)
        parts = {"train": (source, everybody)}
        if self.builder_config.archive == "full":
            splits = by_subject(everybody, FRACTIONS)
            parts = {
                split: (source, {s: everybody[s] for s in sorted(chosen)})
                for split, chosen in splits.items()
            }
        if others:
            parts["test"] = (others[0], usable["test"])
        elif self.builder_config.archive == "large":
            log.warning(
                "%s: no %s there, so the split `test` is left out.",
                self.name,
                TEST_OF_LARGE.official,
            )
        repeats = Repeats(source.title, "trials", "kept")
        self.info.metadata.update(
            **origins(self.name, sources),
            same_as=repeats.same_as,
            channels=list(smni.CHANNELS),
            rate_hz=smni.RATE_HZ,
            subjects={split: list(chosen) for split, (_, chosen) in parts.items()},
        )
        return {
            split: self._generate_examples(*part, repeats, split) for split, part in parts.items()
        }

    def _generate_examples(self, source, held, repeats, split):
        for subject, members in track(list(held.items()), f"{self.name}, {split}, people"):
            for number, name, file in trial_files(source, members):
                try:
                    trial = smni.parse(file, name=name)
                except smni.EmptyTrialError:
                    log.warning("%s: %s has no samples and is left out.", source.title, name)
                    continue
                key = f"{subject}/{number}"
                record = example(trial, subject, int(number), name)
                repeats.add(record["sequence"], key, f"{subject}, {split}")
                if self.builder_config.jitter is not None:
                    sequence, jitter = record.pop("sequence"), self.builder_config.jitter
                    record["matrix"] = covariance(sequence, jitter, name=name)
                yield key, {"id": key, **record}
        repeats.report()


def example(trial: smni.Trial, subject: str, number: int, name: str) -> dict:
    """Returns the features of a trial; the number is the file's, since some headers state another.

    Raises:
        FormatError: When the file is of another person or lacks an electrode.
    """
    if trial.subject != subject:
        raise FormatError(
            name, "line 1", f"the subject {trial.subject}", subject, "Unpack the archive again."
        )
    if set(trial.channels) != set(smni.CHANNELS):
        odd = sorted(set(trial.channels) ^ set(smni.CHANNELS))
        raise FormatError(
            name, "", f"{len(trial.channels)} electrodes, differing in {', '.join(odd[:5])}",
            "the 64 of the set", "Unpack the archive again.",
        )  # fmt: skip
    columns = [trial.channels.index(channel) for channel in smni.CHANNELS]
    return {
        "sequence": np.ascontiguousarray(trial.sequence[:, columns]),
        "group": GROUPS[subject[3]],
        "condition": trial.condition,
        "error": trial.error,
        "trial": number,
        **people.record(subject),
    }
