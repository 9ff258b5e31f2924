"""EEG of people watching music videos, with their ratings (DEAP, Koelstra2012)."""

from __future__ import annotations

import dataclasses
import logging

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
from tfds_builders.common.spd import JITTER, covariance
from tfds_builders.common.splits import by_subject
from tfds_builders.deap_eeg.grouping import equal_parts
from tfds_builders.deap_eeg.signals import band_pass, moving_standardization
from tfds_builders.parsers import deap

log = logging.getLogger("tfds_builders")

FRACTIONS = {"train": 0.625, "validation": 0.125, "test": 0.25}
SUBJECTS = 32
CLASSES = (2, 3, 4, 9)
DEVICE = "BioSemi ActiveTwo"
_GET = (
    "Sign the agreement of https://www.eecs.qmul.ac.uk/mmv/datasets/deap/, download "
    "data_preprocessed_python.zip (2.7 GB), put it into the manual folder as it is, and run "
    "`python -m tfds_builders.build deap_eeg --manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="deap_eeg",
    stems=("data_preprocessed_python",),
    loose=r"s\d\d\.dat",
    official="data_preprocessed_python.zip",
    get=_GET,
    limits=Limits(members=1_000, member_bytes=256 << 20, total_bytes=8 << 30),
)


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """What a record has of its trial.

    Attributes:
        covariance: Whether it is one covariance matrix; else the signals.
        classes: Number of classes of the valence; None for no label.
    """

    covariance: bool = True
    classes: int | None = None


class Builder(AloneMixin, tfds.core.GeneratorBasedBuilder):
    """Builder of `deap_eeg`."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = _GET
    ABOUT = About(
        people=SUBJECTS,
        size="40 videos each, 2.7 GB",
        license="by a signed agreement, for academic research only",
        archives=WANTED,
    )
    BUILDER_CONFIGS = [
        Config(name="raw", description="The signals, 128 Hz.", covariance=False),
        Config(name="cov32", description="One 32 x 32 covariance matrix a trial."),
        *(
            Config(
                name=f"cov32_valence{classes}",
                description=f"The same, labeled by the valence in {classes} classes.",
                classes=classes,
            )
            for classes in CLASSES
        ),
    ]

    def _info(self):
        tensor, config = tfds.features.Tensor, self.builder_config
        eeg, peripheral = len(deap.CHANNELS), len(deap.PERIPHERAL)
        if config.covariance:
            own = {"matrix": tensor(shape=(eeg, eeg), dtype=np.float64, encoding="bytes")}
        else:
            widths = {"sequence": eeg, "baseline": eeg, "peripheral": peripheral}
            own = {
                name: tensor(shape=(None, width), dtype=np.float32, encoding="bytes")
                for name, width in widths.items()
            }
        if config.classes is not None:
            own["label"] = tfds.features.ClassLabel(num_classes=config.classes)
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "id": tfds.features.Text(),
                    **own,
                    "ratings": tensor(shape=(len(deap.RATINGS),), dtype=np.float32),
                    "video": np.int32,
                    **people.features(),
                }
            ),
            homepage="https://www.eecs.qmul.ac.uk/mmv/datasets/deap/",
            metadata=tfds.core.MetadataDict(),
        )

    def sources(self, manual_dir) -> dict[str, Source]:
        """Finds the archive.

        Raises:
            ArchiveError: When it is missing or cannot be opened.
        """
        return {"recordings": find(manual_dir, WANTED)}

    def _split_generators(self, dl_manager):
        sources = self.sources(dl_manager.manual_dir)
        (source,) = sources.values()
        members = members_of(source)
        subjects = by_subject(members, FRACTIONS)
        held = {"people": (len(members), SUBJECTS)}
        tell_part(self.info, source.title, "DEAP", held, divided=held)
        repeats = Repeats(source.title, "trials", "kept")
        self.info.metadata.update(
            **origins(self.name, sources),
            same_as=repeats.same_as,
            channels=list(deap.CHANNELS),
            peripheral=list(deap.PERIPHERAL),
            ratings=list(deap.RATINGS),
            rate_hz=deap.RATE_HZ,
            subjects={split: list(ids) for split, ids in subjects.items()},
        )
        return {
            split: self._generate_examples(source, members, ids, repeats, split)
            for split, ids in subjects.items()
        }

    def _generate_examples(self, source, members, subjects, repeats, split):
        for subject in track(subjects, f"{self.name}, {split}, people"):
            name = members[subject]
            person = deap.parse(source.open(name), name=name)
            if person.data.shape != deap.SHAPE:
                log.warning(
                    "%s: %s has the shape %s, not %s: no file of the official archive.",
                    source.title, name, person.data.shape, deap.SHAPE,
                )  # fmt: skip
            for at, (trial, ratings) in enumerate(zip(person.data, person.ratings, strict=True)):
                key = f"{subject}/{at + 1:02d}"
                repeats.add(trial, key, subject)
                yield (
                    key,
                    {
                        "id": key,
                        **self._example(trial, ratings, f"{name}, trial {at + 1}"),
                        "ratings": ratings.astype(np.float32),
                        "video": at + 1,
                        **people.record(subject, session=0, day=0, device=DEVICE),
                    },
                )
        repeats.report()

    def _example(self, trial: np.ndarray, ratings: np.ndarray, name: str) -> dict:
        """What a config has of a trial, (channels, samples)."""
        eeg = trial[: len(deap.CHANNELS)].T  # (samples, 32)
        config = self.builder_config
        if not config.covariance:
            return {
                "sequence": eeg[deap.BASELINE :].astype(np.float32),
                "baseline": eeg[: deap.BASELINE].astype(np.float32),
                "peripheral": trial[len(deap.CHANNELS) :, deap.BASELINE :].T.astype(np.float32),
            }
        example = {"matrix": matrix_of(eeg, name=name)}
        if config.classes is not None:
            valence = ratings[deap.RATINGS.index("valence")]
            example["label"] = int(equal_parts(valence, config.classes))
        return example


def matrix_of(eeg: np.ndarray, *, name: str) -> np.ndarray:
    """Returns the covariance of a trial after its baseline (Kim2020).

    The filter and the moving mean and variance run from the start of the baseline on, so that they
    have settled when the video begins.

    Args:
        eeg: (samples, 32), baseline first.
        name: Name of the trial, for errors.

    Returns:
        (32, 32) float64, positive definite, without unit.
    """
    standardized = moving_standardization(band_pass(eeg, deap.RATE_HZ), deap.BASELINE)
    return covariance(standardized[deap.BASELINE :], JITTER, name=name)


def members_of(source: Source) -> dict[str, str]:
    """Returns the members of an archive by subject, `s01`, in the order of the names.

    Raises:
        ArchiveError: When there are none, or one is there twice.
    """
    found = {subject: member for (subject,), member in source.index(r"(s\d\d)\.dat").items()}
    if not found:
        names = source.listed
        raise ArchiveError(f"{source.title} holds no s01.dat to s32.dat; it holds {names}. {_GET}")
    return found
