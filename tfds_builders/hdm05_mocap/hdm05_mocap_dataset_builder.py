"""Data set of motion capture clips. Each clip shows one motion by one of five actors (HDM05,
Mueller2007).
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import os
from collections.abc import Iterator

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.archive import Source
from tfds_builders.common.builder import About, Example, Plan, RecordingsBuilder
from tfds_builders.common.find import find_config
from tfds_builders.common.repeats import Contents, Repeats
from tfds_builders.common.spd import JITTER, covariance
from tfds_builders.hdm05_mocap import packs
from tfds_builders.hdm05_mocap.clips import (
    ACTORS,
    ANGLES,
    CLIPS,
    DEVICE,
    JOINTS,
    MOTIONS,
    RATE_HZ,
    WANTED,
    Clip,
    clips_of,
    skeleton_of,
)
from tfds_builders.hdm05_mocap.kinematics import joint_positions
from tfds_builders.parsers import amc, asf

log = logging.getLogger("tfds_builders")

CONFIGS = {"sequences": WANTED, "spd93": WANTED, **packs.PACKS}


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Configuration that sets the contents of a record.

    Attributes:
        jitter: Amount that is added to the diagonal of a clip's covariance matrix, as a fraction of
            the mean variance. The value is None if the records have sequences, or if the files
            already contain the matrices.
    """

    jitter: float | None = None


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `hdm05_mocap`."""

    VERSION = tfds.core.Version("2.0.0")
    RELEASE_NOTES = {
        "2.0.0": "Adds `session`, `day` and `device`. `actor` is now `subject`. Adds the configs "
        "with matrices from files.",
        "1.0.0": "First release.",
    }
    ABOUT = About(
        people=len(ACTORS), size=f"{CLIPS:,} clips", license="CC BY-SA 3.0", archives=CONFIGS
    )
    HOMEPAGE = "https://resources.mpi-inf.mpg.de/HDM05/"
    BUILDER_CONFIGS = [
        Config(
            name="sequences",
            description="Positions and angles of 31 joints, 120 frames per second.",
        ),
        Config(
            name="spd93",
            description="One 93 x 93 covariance matrix of the joint positions per clip.",
            jitter=JITTER,
        ),
        Config(
            name="spd_eth",
            description="Matrices of sub-sequences, published by the authors of SPDNet.",
        ),
        Config(
            name="spd_brooks117",
            description="2,086 matrices of 117 motions, published with torchspdnet.",
        ),
    ]

    @property
    def is_pack(self) -> bool:
        """Whether the records of the config are matrices that the archive contains."""
        return self.builder_config.name in packs.PACKS

    def features(self) -> dict:
        tensor, width = tfds.features.Tensor, 3 * len(JOINTS)
        matrix = tensor(shape=(width, width), dtype=np.float64, encoding="zlib")
        if self.is_pack:
            signal = {"matrix": matrix}
        elif self.builder_config.jitter is None:
            signal = {
                "take": np.int32,
                "sequence": tensor(shape=(None, width), dtype=np.float32),
                "angles": tensor(shape=(None, len(ANGLES)), dtype=np.float32),
            }
        else:
            signal = {"take": np.int32, "matrix": matrix, "frames": np.int32}
        return {**signal, "motion": tfds.features.Text()}

    def sources(self, manual_dir: str | os.PathLike) -> dict[str, Source]:
        config = self.builder_config.name
        key = config if self.is_pack else "HDM05_cut_amc"
        return {key: find_config(manual_dir, CONFIGS, config)}

    def plan(self, sources: dict[str, Source]) -> Plan:
        (source,) = sources.values()
        return self._of_pack(source) if self.is_pack else self._of_clips(source)

    def _of_pack(self, source: Source) -> Plan:
        matrices = packs.matrices_of(source, self.builder_config.name)
        official = packs.MATRICES.get(self.builder_config.name, 0)
        self.warn_of_part(source, "the pack", {"matrices": (len(matrices), official)})
        return Plan(
            {"train": matrices},
            functools.partial(matrix_examples, source=source),
            "matrices",
            Repeats(source.title, "matrices", "kept"),
            metadata={"motions": sorted({matrix.motion for matrix in matrices})},
        )

    def _of_clips(self, source: Source) -> Plan:
        clips = clips_of(source)
        actors = sorted({clip.actor for clip in clips})
        motions = sorted({clip.motion for clip in clips})
        counts = {
            "clips": (len(clips), CLIPS),
            "motions": (len(motions), MOTIONS),
            "actors": (len(actors), len(ACTORS)),
        }
        self.warn_of_part(source, "HDM05", counts)
        return Plan(
            {f"actor_{actor}": [clip for clip in clips if clip.actor == actor] for actor in actors},
            ClipReader(source, self.builder_config.jitter),
            "clips",
            Repeats(source.title, "clips", "kept"),
            subjects={f"actor_{actor}": [actor] for actor in actors},
            metadata={
                "channels": [f"{joint}.{axis}" for joint in JOINTS for axis in "xyz"],
                "angles": list(ANGLES),
                "rate_hz": RATE_HZ,
                "motions": motions,
            },
        )

    def _generate_examples(self, plan: Plan, split: str) -> Iterator[Example]:
        examples = super()._generate_examples(plan, split)
        return _smallest_eigenvalues_logged(examples, plan.repeats) if self.is_pack else examples


def _smallest_eigenvalues_logged(examples, repeats: Repeats) -> Iterator[Example]:
    """Yields the examples. At the end, the function logs how many matrices are not positive
    definite.
    """
    smallest = []
    for key, example in examples:
        smallest.append(np.linalg.eigvalsh(example["matrix"])[0])
        yield key, example
    singular = np.sum(np.array(smallest) <= 0)
    if singular:
        log.warning(
            "%s: %d of %d matrices in the files are not positive definite. The smallest eigenvalue "
            "is %.3g.",
            repeats.title, singular, len(smallest), min(smallest),
        )  # fmt: skip


def matrix_examples(
    item: packs.Matrix, repeats: Repeats | Contents, source: Source
) -> Iterator[Example]:
    """Yields the example of a published matrix."""
    matrix = packs.read(source.open(item.member), item.member)
    repeats.add(matrix, item.key, "the pack")  # clips of two motions may share frames
    yield item.key, {"matrix": matrix, "motion": item.motion, **people.record("", device=DEVICE)}


class ClipReader:
    """Callable object that reads clips and keeps the skeletons that it has read.

    Args:
        source: The archive.
        jitter: See `Config`.
    """

    def __init__(self, source: Source, jitter: float | None):
        self._source, self._jitter = source, jitter
        self._skeletons: dict[str, asf.Skeleton] = {}

    def __call__(self, clip: Clip, repeats: Repeats | Contents) -> Iterator[Example]:
        """Yields the example of a clip. Raises an error if two actors have the same clip."""
        if clip.asf not in self._skeletons:
            self._skeletons[clip.asf] = skeleton_of(self._source, clip)
        skeleton = self._skeletons[clip.asf]
        motion = amc.parse(self._source.open(clip.amc), skeleton, name=clip.amc)
        key = f"{clip.actor}/{clip.motion}/{clip.take}"
        repeats.add(motion.values, key, f"actor {clip.actor}")
        yield (
            key,
            {
                **self._signal(clip, skeleton, motion),
                "motion": clip.motion,
                "take": int(clip.take),
                **people.record(clip.actor, device=DEVICE),
            },
        )

    def _signal(self, clip: Clip, skeleton: asf.Skeleton, motion: amc.Motion) -> dict:
        columns = [skeleton.joints.index(joint) for joint in JOINTS]
        places = joint_positions(skeleton, motion)[:, columns].reshape(len(motion.values), -1)
        if self._jitter is not None:
            matrix = covariance(places, self._jitter, name=clip.amc)
            return {"matrix": matrix, "frames": len(places)}
        angles = motion.values[:, [skeleton.channels.index(channel) for channel in ANGLES]]
        angles[:, :3] *= skeleton.meters  # the position of the root
        return {"sequence": places.astype(np.float32), "angles": angles.astype(np.float32)}
