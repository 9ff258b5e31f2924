"""Data set with walks of people with and without impairments, recorded by sensors on both feet at
100 Hz (Truong2019).
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.archive import Source
from tfds_builders.common.builder import About, Example, Plan, RecordingsBuilder, divided
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits
from tfds_builders.common.repeats import Repeats
from tfds_builders.common.splits import by_subject
from tfds_builders.parsers import gait

FRACTIONS = {"train": 0.65, "validation": 0.10, "test": 0.25}
SUBJECTS, TRIALS = 230, 1020
_GET = (
    "Get GaitData.zip (about 200 MB, CC BY-NC-SA) from the page of the article, "
    "https://doi.org/10.5201/ipol.2019.265. Put the zip file into the manual folder. Then run "
    "`python -m tfds_builders.build ipol_gait --manual-dir FOLDER`."
)
_NOTED = (
    "trial", "group", "is_control", "age", "height", "weight", "speed",
    "left_steps", "right_steps",
)  # fmt: skip
WANTED = Wanted(
    dataset="ipol_gait",
    stems=("GaitData",),
    loose=r"\d+-\d+\.csv",
    official="GaitData.zip",
    get=_GET,
    limits=Limits(members=5_000, member_bytes=32 << 20, total_bytes=2 << 30),
)


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Configuration that sets the channels of the records.

    Attributes:
        foot: `"left"` or `"right"` for the six sensor axes of one foot, or `""` for all 16
            channels.
    """

    foot: str = ""

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels, in order."""
        axes = (f"{self.foot[:1].upper()}{kind}{axis}" for kind in "AR" for axis in "XYZ")
        return tuple(axes) if self.foot else gait.CHANNELS


class Trial(NamedTuple):
    """One walk, with the number of the person and the number of the walk. `stem` is the common path
    of the two files, without the extensions.
    """

    subject: str
    number: str
    stem: str

    @property
    def name(self) -> str:
        return f"{self.subject}-{self.number}"


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `ipol_gait`."""

    VERSION = tfds.core.Version("2.0.0")
    RELEASE_NOTES = {
        "2.0.0": "Adds `session`, `day` and `device`. `sensor` is now `device`.",
        "1.0.0": "First release.",
    }
    ABOUT = About(
        people=SUBJECTS, size=f"{TRIALS:,} walks, 200 MB", license="CC BY-NC-SA", archives=WANTED
    )
    HOMEPAGE = "https://doi.org/10.5201/ipol.2019.265"
    ARCHIVE_KEY = "GaitData"
    BUILDER_CONFIGS = [
        Config(name="trials", description="Whole trials with the 16 channels of both feet."),
        Config(
            name="left_foot",
            description="Whole trials with the channels LAX LAY LAZ LRX LRY LRZ.",
            foot="left",
        ),
        Config(
            name="right_foot",
            description="Whole trials with the channels RAX RAY RAZ RRX RRY RRZ.",
            foot="right",
        ),
    ]

    def features(self) -> dict:
        channels = len(self.builder_config.channels)
        steps = ("left_steps", "right_steps", *(["steps"] if self.builder_config.foot else []))
        return {
            "sequence": tfds.features.Tensor(shape=(None, channels), dtype=np.float32),
            "trial": np.int32,
            "group": tfds.features.Text(),
            "is_control": np.bool_,
            **dict.fromkeys(("age", "height", "weight", "speed"), np.float32),
            **{key: tfds.features.Tensor(shape=(None, 2), dtype=np.int32) for key in steps},
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        all_trials = trials_of(source)
        trials = distinct(source, all_trials)
        subjects = by_subject((trial.subject for trial in trials), FRACTIONS)
        counts = {
            "subjects": (sum(map(len, subjects.values())), SUBJECTS),
            "trials": (len(all_trials), TRIALS),
        }
        self.warn_of_part(source, "the official archive", counts, divided=["subjects"])
        channels = self.builder_config.channels
        return Plan(
            divided(trials, subjects),
            functools.partial(examples_of, source=source, config=self.builder_config),
            "trials",
            subjects=subjects,
            metadata={"channels": list(channels), "rate_hz": gait.RATE_HZ},
        )


def examples_of(trial: Trial, _: object, source: Source, config: Config) -> Iterator[Example]:
    """Yields the example of a trial."""
    table, notes_file = f"{trial.stem}.csv", f"{trial.stem}.json"
    sequence = gait.parse(source.open(table), name=table).sequence
    notes = gait.parse_notes(source.open(notes_file), name=notes_file)
    notes.check_length(len(sequence), name=notes_file)
    columns = [gait.CHANNELS.index(channel) for channel in config.channels]
    example = {
        "sequence": sequence[:, columns],
        **{key: getattr(notes, key) for key in _NOTED},
        **people.record(trial.subject, device=notes.sensor),
    }
    if config.foot:
        example["steps"] = example[f"{config.foot}_steps"]
    yield f"{trial.subject}/{trial.number}", example


def trials_of(source: Source) -> list[Trial]:
    """Returns the trials of an archive, sorted by the numbers of the person and of the trial.

    Raises:
        ArchiveError: If the archive has no trials, if one of the two files of a trial is missing,
            or if the archive belongs to a later data set with the same archive name.
    """
    if any(re.fullmatch(r".*_(lb|rb|lf|rf|he)\.txt", name) for name in source.names):
        raise ArchiveError(
            f"{source.title} is another, later data set with the same name. It has 19 subjects and "
            f"files such as *_lb.txt. {_GET}"
        )
    signals, notes = (source.index(rf"(\d+)-(\d+)\.{kind}") for kind in ("csv", "json"))
    if not signals:
        names = source.first_names
        raise ArchiveError(
            f"{source.title} holds no <subject>-<trial>.csv. It holds {names}. {_GET}"
        )
    alone = sorted("-".join(key) for key in signals.keys() ^ notes.keys())
    if alone:
        raise ArchiveError(
            f"{source.title}: trial {', '.join(alone[:5])} has only one of the two files "
            ".csv and .json. The archive is incomplete or was not unpacked completely. Unpack it "
            "again."
        )
    keys = sorted(signals, key=lambda key: (int(key[0]), int(key[1])))
    stems = {key: signals[key].removesuffix(".csv") for key in keys}
    separate = [key for key in keys if f"{stems[key]}.json" != notes[key]]
    if separate:
        raise ArchiveError(
            f"{source.title}: {signals[separate[0]]} and {notes[separate[0]]} are in different "
            "folders. Unpack the archive again."
        )
    return [Trial(*key, stem) for key, stem in stems.items()]


def distinct(source: Source, trials: list[Trial]) -> list[Trial]:
    """Returns all trials except those with the same samples as an earlier trial.

    In the official archive, the trials 80-4 and 80-7 have the same samples.

    Raises:
        ArchiveError: If trials of two people have the same samples, so that one of the two labels
            must be wrong.
    """
    repeats = Repeats(source.title, "trials", "left out")
    for trial in trials:
        repeats.add(source.read(f"{trial.stem}.csv"), trial.name, f"subject {trial.subject}")
    repeats.report()
    return [trial for trial in trials if trial.name not in repeats.same_as]
