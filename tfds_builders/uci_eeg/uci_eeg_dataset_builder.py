"""Data set with EEG of people with and without alcoholism who look at pictures (Begleiter1999;
Zhang1995).
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import logging
import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.archive import Source
from tfds_builders.common.builder import About, Example, Plan, RecordingsBuilder, divided
from tfds_builders.common.errors import FormatError, MissingArchiveError
from tfds_builders.common.find import find, find_config
from tfds_builders.common.repeats import Contents, Repeats
from tfds_builders.common.spd import JITTER, covariance
from tfds_builders.common.splits import by_subject
from tfds_builders.parsers import smni
from tfds_builders.uci_eeg.archives import CONFIGS, TEST_OF_LARGE, trial_files, usable_people

log = logging.getLogger("tfds_builders")

FRACTIONS = {"train": 0.4, "validation": 0.1, "test": 0.5}
GROUPS = {"a": "alcoholic", "c": "control"}


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Configuration that sets the archive and the contents of a record.

    Attributes:
        archive: `"full"`, `"large"` or `"small"`.
        people: Number of subjects in the official archive.
        jitter: Amount that is added to the diagonal of covariance matrices, as a fraction of the
            mean variance. The value is None if the records have sequences.
    """

    archive: str = ""
    people: int = 0
    jitter: float | None = None


def _both(archive: str, people: int, description: str) -> list[Config]:
    """Returns the two configs of an archive. The records of the first config are sequences. The
    records of the second config are the covariance matrices of these sequences.
    """
    return [
        Config(name=archive, description=description, archive=archive, people=people),
        Config(
            name=f"{archive}_spd64",
            description=f"One 64 x 64 covariance matrix per trial. {description}",
            archive=archive,
            people=people,
            jitter=JITTER,
        ),
    ]


class Person(NamedTuple):
    """A person's id, the paths of the person's trials in an archive, and the key of this
    archive.
    """

    subject: str
    members: list[str]
    archive: str


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `uci_eeg`."""

    VERSION = tfds.core.Version("1.1.0")
    RELEASE_NOTES = {
        "1.1.0": "Adds `session`, `day` and `device`.",
        "1.0.0": "First release.",
    }
    ABOUT = About(
        people=122, size="40 to 120 trials each, 700 MB", license="CC BY 4.0", archives=CONFIGS
    )
    HOMEPAGE = "https://doi.org/10.24432/C5TS3D"
    BUILDER_CONFIGS = [
        *_both("full", 122, "122 subjects. No subject is in two splits."),
        *_both(
            "large", 20, "20 subjects. All subjects are in both official parts, `train` and `test`."
        ),
        *_both("small", 2, "2 subjects, all in one split."),
    ]

    def features(self) -> dict:
        channels = len(smni.CHANNELS)
        if self.builder_config.jitter is None:
            name, shape, dtype = "sequence", (smni.SAMPLES, channels), np.float32
        else:
            name, shape, dtype = "matrix", (channels, channels), np.float64
        return {
            name: tfds.features.Tensor(shape=shape, dtype=dtype, encoding="bytes"),
            "group": tfds.features.ClassLabel(names=list(GROUPS.values())),
            "condition": tfds.features.ClassLabel(names=list(smni.CONDITIONS)),
            "error": np.bool_,
            "trial": np.int32,
        }

    def sources(self, manual_dir: str | os.PathLike) -> dict[str, Source]:
        """Finds the archive of the config. For `large`, also finds the test archive if it
        exists.
        """
        archive = self.builder_config.archive
        sources = {archive: find_config(manual_dir, CONFIGS, archive)}
        if archive == "large":
            with contextlib.suppress(MissingArchiveError):
                sources["test"] = find(manual_dir, TEST_OF_LARGE)
        return sources

    def plan(self, sources: dict[str, Source]) -> Plan:
        config = self.builder_config
        persons = {
            key: [
                Person(subject, members, key) for subject, members in usable_people(source).items()
            ]
            for key, source in sources.items()
        }
        for key, source in sources.items():
            count = {"subjects": (len(persons[key]), config.people)}
            drawn = count if config.archive == "full" else ()
            self.warn_of_part(source, "the official archive", count, divided=drawn)
        splits = {"train": persons[config.archive]}
        if config.archive == "full":
            subjects = by_subject((person.subject for person in splits["train"]), FRACTIONS)
            splits = {
                split: sorted(part) for split, part in divided(splits["train"], subjects).items()
            }
        elif "test" in sources:
            splits["test"] = persons["test"]
        elif config.archive == "large":
            log.warning(
                "%s: %s does not exist, so the split `test` is left out.",
                self.name,
                TEST_OF_LARGE.official,
            )
        return Plan(
            {split: [(person, split) for person in part] for split, part in splits.items()},
            functools.partial(examples_of, sources=sources, jitter=config.jitter),
            "people",
            Repeats(sources[config.archive].title, "trials", "kept"),
            subjects={split: [person.subject for person in part] for split, part in splits.items()},
            metadata={"channels": list(smni.CHANNELS), "rate_hz": smni.RATE_HZ},
        )


def examples_of(
    recording: tuple[Person, str],
    repeats: Repeats | Contents,
    sources: dict[str, Source],
    jitter: float | None,
) -> Iterator[Example]:
    """Yields one example for each trial of a person in a split.

    Args:
        recording: Tuple of the person and the name of the split.
        repeats: Object that finds equal trials. The object raises an error if two people or two
            splits have the same trial.
        sources: The archives.
        jitter: See `Config`.
    """
    (subject, members, archive), split = recording
    source = sources[archive]
    for number, name, file in trial_files(source, members):
        try:
            trial = smni.parse(file, name=name)
        except smni.EmptyTrialError:
            log.warning("%s: %s has no samples and is left out.", source.title, name)
            continue
        key = f"{subject}/{number}"
        record = example(trial, subject, int(number), name)
        repeats.add(record["sequence"], key, f"{subject}, {split}")
        if jitter is not None:
            record["matrix"] = covariance(record.pop("sequence"), jitter, name=name)
        yield key, record


def example(trial: smni.Trial, subject: str, number: int, name: str) -> dict:
    """Returns the features of a trial.

    The number of the trial comes from the name of the file, because some headers state another
    number.

    Raises:
        FormatError: If the subject in the header is not `subject`, or if an electrode is missing.
    """
    if trial.subject != subject:
        raise FormatError(
            name, "line 1", f"the subject is {trial.subject}", subject, "Unpack the archive again."
        )
    if set(trial.channels) != set(smni.CHANNELS):
        odd = sorted(set(trial.channels) ^ set(smni.CHANNELS))
        raise FormatError(
            name, "", f"the {len(trial.channels)} electrodes differ in {', '.join(odd[:5])}",
            "the 64 electrodes of the data set", "Unpack the archive again.",
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
