"""EEG of people with and without alcoholism looking at pictures (Begleiter1999; Zhang1995)."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.archive import Source
from tfds_builders.common.builder import AloneMixin
from tfds_builders.common.checks import origins
from tfds_builders.common.errors import ArchiveError, FormatError, MissingArchiveError
from tfds_builders.common.find import Wanted, find, find_config
from tfds_builders.common.limits import Limits
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Repeats
from tfds_builders.common.spd import JITTER, covariance
from tfds_builders.common.splits import by_subject
from tfds_builders.parsers import smni

log = logging.getLogger("tfds_builders")

FRACTIONS = {"train": 0.4, "validation": 0.1, "test": 0.5}
MINIMUM_TRIALS = 6  # five probes and one enrolled, the least that Abdelwahab2019's protocol needs
GROUPS = {"a": "alcoholic", "c": "control"}
_TRIAL = r"(co\d[ac]\d{7})\.rd\.(\d{3})(?:\.gz)?"
_PERSON = r"(co\d[ac]\d{7})\.tar(?:\.gz)?"
_GET = (
    "Get it from https://doi.org/10.24432/C5TS3D (about 700 MB; eeg_full.tar for uci_eeg/full, "
    "SMNI_CMI_TRAIN.tar.gz and SMNI_CMI_TEST.tar.gz for uci_eeg/large, smni97_eeg_data.tar.gz "
    "for uci_eeg/small), put it into the manual folder as it is, and run `python -m "
    "tfds_builders.build uci_eeg/large --manual-dir FOLDER`."
)


def _wanted(stem: str, official: str, loose: str = "") -> Wanted:
    return Wanted(
        dataset="uci_eeg",
        stems=(stem,),
        official=official,
        get=_GET,
        loose=loose,
        outer=("eeg+database", "eeg_database"),
        limits=Limits(members=20_000, member_bytes=8 << 20, total_bytes=6 << 30),
    )


CONFIGS = {
    "full": _wanted("eeg_full", "eeg_full.tar", loose=r"co\d[ac]\d{7}(\.tar\.gz)?"),
    "large": _wanted("SMNI_CMI_TRAIN", "SMNI_CMI_TRAIN.tar.gz"),
    "small": _wanted("smni97_eeg_data", "smni97_eeg_data.tar.gz"),
}
TEST_OF_LARGE = _wanted("SMNI_CMI_TEST", "SMNI_CMI_TEST.tar.gz")


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
    MANUAL_DOWNLOAD_INSTRUCTIONS = _GET
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
        people, *_ = usable.values()
        if len(people) < self.builder_config.people:
            log.warning(
                "%s holds %d of %d subjects: a part of the official archive.",
                source.title, len(people), self.builder_config.people,
            )  # fmt: skip
        parts = {"train": (source, people)}
        if self.builder_config.archive == "full":
            splits = by_subject(people, FRACTIONS)
            parts = {
                split: (source, {s: people[s] for s in sorted(chosen)})
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

    def _generate_examples(self, source, people, repeats, split):
        for subject, members in track(list(people.items()), f"{self.name}, {split}, people"):
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


def usable_people(source: Source) -> dict[str, list[str]]:
    """Returns the members of each person who has enough trials with samples; says who has not.

    Returns:
        Subject to names of members: trial files, or the person's own archive.

    Raises:
        ArchiveError: When there is nobody, or somebody both as an archive and as files.
    """
    people: dict[str, list[str]] = {}
    trials, archives = source.index(_TRIAL), source.index(_PERSON)
    for (subject, _), name in trials.items():
        if (subject,) in archives:
            raise ArchiveError(
                f"{source.title} holds {subject} twice: {archives[subject,]} and {name}. Keep one "
                "of the two."
            )
    for (subject, *_), name in sorted({**trials, **archives}.items()):
        people.setdefault(subject, []).append(name)
    counts = {
        subject: sum(smni.has_samples(file.read()) for *_, file in trial_files(source, members))
        for subject, members in track(
            list(people.items()), f"{source.title}, looking for empty trials, people"
        )
    }
    few = [subject for subject, count in counts.items() if count < MINIMUM_TRIALS]
    if few:
        log.warning(
            "%s: left out for fewer than %d trials with samples: %s.",
            source.title,
            MINIMUM_TRIALS,
            ", ".join(few),
        )
    if len(few) == len(people):
        found = ", ".join(source.names[:5]) or "nothing"
        raise ArchiveError(
            f"{source.title} holds nobody with {MINIMUM_TRIALS} trials <subject>.rd.<number>; it "
            f"holds {found}. {_GET}"
        )
    return {subject: members for subject, members in people.items() if subject not in few}


def trial_files(source: Source, members: list[str]) -> Iterator[tuple[str, str, BinaryIO]]:
    """Opens a person's trials: number, name and unzipped file of each.

    Args:
        source: The archive.
        members: Names of trial files, or of archives with trial files.
    """
    for member in members:
        if member.endswith((".tar", ".tar.gz")):
            inner = source.nested(member)
            yield from trial_files(inner, sorted(inner.index(_TRIAL).values()))
            inner.close()
        else:
            number = member.removesuffix(".gz").rsplit(".", 1)[-1]
            yield number, f"{source.title}: {member}", source.open(member)
