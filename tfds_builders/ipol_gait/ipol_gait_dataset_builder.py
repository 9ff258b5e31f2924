"""Walks of people with and without impairments, both feet, at 100 Hz (Truong2019)."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.about import About
from tfds_builders.common.builder import AloneMixin
from tfds_builders.common.checks import origins
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted, find
from tfds_builders.common.limits import Limits
from tfds_builders.common.parts import tell_part
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Repeats
from tfds_builders.common.source import Source
from tfds_builders.common.splits import by_subject
from tfds_builders.parsers import gait

FRACTIONS = {"train": 0.65, "validation": 0.10, "test": 0.25}
SUBJECTS, TRIALS = 230, 1020
_GET = (
    "Get GaitData.zip (about 200 MB, CC BY-NC-SA) from the article's page, "
    "https://doi.org/10.5201/ipol.2019.265, put it into the manual folder as it is, and run "
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
    """Which channels a record has.

    Attributes:
        foot: `"left"` or `"right"` for the six sensor axes of one foot; `""` for all 16 channels.
    """

    foot: str = ""

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels, in order."""
        axes = (f"{self.foot[:1].upper()}{kind}{axis}" for kind in "AR" for axis in "XYZ")
        return tuple(axes) if self.foot else gait.CHANNELS


class Builder(AloneMixin, tfds.core.GeneratorBasedBuilder):
    """Builder of `ipol_gait`."""

    VERSION = tfds.core.Version("2.0.0")
    RELEASE_NOTES = {
        "2.0.0": "`session`, `day` and `device`; `sensor` is `device`.",
        "1.0.0": "First release.",
    }
    MANUAL_DOWNLOAD_INSTRUCTIONS = _GET
    ABOUT = About(
        people=SUBJECTS, size=f"{TRIALS:,} walks, 200 MB", license="CC BY-NC-SA", archives=WANTED
    )
    BUILDER_CONFIGS = [
        Config(name="trials", description="Whole trials, 16 channels, both feet."),
        Config(name="left_foot", description="Whole trials, LAX LAY LAZ LRX LRY LRZ.", foot="left"),
        Config(
            name="right_foot", description="Whole trials, RAX RAY RAZ RRX RRY RRZ.", foot="right"
        ),
    ]

    def _info(self):
        steps = tfds.features.Tensor(shape=(None, 2), dtype=np.int32)
        features = {
            "id": tfds.features.Text(),
            "sequence": tfds.features.Tensor(
                shape=(None, len(self.builder_config.channels)), dtype=np.float32
            ),
            "trial": np.int32,
            "group": tfds.features.Text(),
            "is_control": np.bool_,
            "age": np.float32,
            "height": np.float32,
            "weight": np.float32,
            "speed": np.float32,
            "left_steps": steps,
            "right_steps": steps,
            **people.features(),
        }
        if self.builder_config.foot:
            features["steps"] = steps
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(features),
            homepage="https://doi.org/10.5201/ipol.2019.265",
            metadata=tfds.core.MetadataDict(),
        )

    def sources(self, manual_dir) -> dict[str, Source]:
        """Finds the archive.

        Raises:
            ArchiveError: When it is missing or another one.
        """
        return {"GaitData": find(manual_dir, WANTED)}

    def _split_generators(self, dl_manager):
        sources = self.sources(dl_manager.manual_dir)
        (source,) = sources.values()
        found = trials_of(source)
        trials = distinct(source, found)
        subjects = by_subject((subject for subject, _ in trials), FRACTIONS)
        held = {
            "subjects": (sum(map(len, subjects.values())), SUBJECTS),
            "trials": (len(found), TRIALS),
        }
        tell_part(self.info, source.title, "the official archive", held, divided=["subjects"])
        self.info.metadata.update(
            **origins(self.name, sources),
            channels=list(self.builder_config.channels),
            rate_hz=gait.RATE_HZ,
            subjects={split: list(ids) for split, ids in subjects.items()},
        )
        return {
            split: self._generate_examples(
                source, {key: stem for key, stem in trials.items() if key[0] in ids}, split
            )
            for split, ids in subjects.items()
        }

    def _generate_examples(self, source, trials, split):
        columns = [gait.CHANNELS.index(channel) for channel in self.builder_config.channels]
        for (subject, trial), stem in track(list(trials.items()), f"{self.name}, {split}"):
            sequence = gait.parse(source.open(f"{stem}.csv"), name=f"{stem}.csv").sequence
            notes = gait.parse_notes(source.open(f"{stem}.json"), name=f"{stem}.json")
            notes.check_length(len(sequence), name=f"{stem}.json")
            example = {
                "id": f"{subject}/{trial}",
                "sequence": sequence[:, columns],
                **{key: getattr(notes, key) for key in _NOTED},
                **people.record(subject, device=notes.sensor),
            }
            if self.builder_config.foot:
                example["steps"] = example[f"{self.builder_config.foot}_steps"]
            yield example["id"], example


def trials_of(source: Source) -> dict[tuple[str, str], str]:
    """Returns each trial's name without extension by (subject, trial), in the order of the numbers.

    Raises:
        ArchiveError: When there are none, a file of a pair is missing, or it is the other set of
            this name.
    """
    if any(re.fullmatch(r".*_(lb|rb|lf|rf|he)\.txt", name) for name in source.names):
        raise ArchiveError(
            f"{source.title} is the later gait set of 19 subjects, which has the same archive "
            f"name (files *_lb.txt, *_lf.txt, *_rf.txt). {_GET}"
        )
    signals, notes = (source.index(rf"(\d+)-(\d+)\.{kind}") for kind in ("csv", "json"))
    if not signals:
        found = source.listed
        raise ArchiveError(
            f"{source.title} holds no <subject>-<trial>.csv; it holds {found}. {_GET}"
        )
    alone = sorted("-".join(key) for key in signals.keys() ^ notes.keys())
    if alone:
        raise ArchiveError(
            f"{source.title}: of trial {', '.join(alone[:5])} only one of .csv and .json is "
            "there. The archive is cut or was unpacked in part; unpack it again."
        )
    keys = sorted(signals, key=lambda key: (int(key[0]), int(key[1])))
    stems = {key: signals[key].removesuffix(".csv") for key in keys}
    apart = [key for key in keys if f"{stems[key]}.json" != notes[key]]
    if apart:
        raise ArchiveError(
            f"{source.title}: {signals[apart[0]]} and {notes[apart[0]]} lie in two folders. "
            "Unpack it again."
        )
    return stems


def distinct(source: Source, trials: dict[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """Leaves out trials with the very samples of an earlier one (80-7 repeats 80-4 in the official
    archive).

    Raises:
        ArchiveError: When two people have the same samples: one label must be wrong.
    """
    repeats = Repeats(source.title, "trials", "left out")
    for (subject, trial), stem in trials.items():
        repeats.add(source.read(f"{stem}.csv"), f"{subject}-{trial}", f"subject {subject}")
    repeats.report()
    return {key: stem for key, stem in trials.items() if "-".join(key) not in repeats.same_as}
