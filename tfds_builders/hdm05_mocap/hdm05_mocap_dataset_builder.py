"""Motion capture of five actors, cut into clips of one motion each (HDM05, Mueller2007)."""

from __future__ import annotations

import dataclasses
import logging

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.about import About
from tfds_builders.common.builder import AloneMixin
from tfds_builders.common.checks import origins
from tfds_builders.common.find import find_config
from tfds_builders.common.parts import tell_part
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Repeats
from tfds_builders.common.source import Source
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
    clips_of,
    skeleton_of,
)
from tfds_builders.hdm05_mocap.kinematics import joint_positions
from tfds_builders.parsers import amc, asf

log = logging.getLogger("tfds_builders")

CONFIGS = {"sequences": WANTED, "spd93": WANTED, **packs.PACKS}


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """What a record has of its clip.

    Attributes:
        jitter: For covariance matrices of the clips, what is added to the diagonal as a fraction of
            the mean variance; None for sequences, and for matrices that come from files.
    """

    jitter: float | None = None


class Builder(AloneMixin, tfds.core.GeneratorBasedBuilder):
    """Builder of `hdm05_mocap`."""

    VERSION = tfds.core.Version("2.0.0")
    RELEASE_NOTES = {
        "2.0.0": "`session`, `day` and `device`; `actor` is `subject`. Matrices from files.",
        "1.0.0": "First release.",
    }
    MANUAL_DOWNLOAD_INSTRUCTIONS = (
        f"{WANTED.get} In place of the motions spd_eth needs HDM05_SPDData.zip, spd_brooks117 "
        "hdm05.tgz."
    )
    ABOUT = About(
        people=len(ACTORS), size=f"{CLIPS:,} clips", license="CC BY-SA 3.0", archives=CONFIGS
    )
    BUILDER_CONFIGS = [
        Config(
            name="sequences", description="Positions and angles of 31 joints, 120 frames a second."
        ),
        Config(
            name="spd93",
            description="One 93 x 93 covariance matrix of the positions a clip.",
            jitter=JITTER,
        ),
        Config(name="spd_eth", description="Matrices of sub-sequences, as SPDNet's authors gave."),
        Config(
            name="spd_brooks117", description="2,086 matrices of 117 motions, as in torchspdnet."
        ),
    ]

    @property
    def is_pack(self) -> bool:
        """Whether the config's matrices come from files."""
        return self.builder_config.name in packs.PACKS

    def _info(self):
        shape = (3 * len(JOINTS),) * 2
        matrix = tfds.features.Tensor(shape=shape, dtype=np.float64, encoding="zlib")
        if self.is_pack:
            signal = {"matrix": matrix}
        elif self.builder_config.jitter is None:
            signal = {
                "take": np.int32,
                "sequence": tfds.features.Tensor(shape=(None, 3 * len(JOINTS)), dtype=np.float32),
                "angles": tfds.features.Tensor(shape=(None, len(ANGLES)), dtype=np.float32),
            }
        else:
            signal = {"take": np.int32, "matrix": matrix, "frames": np.int32}
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "id": tfds.features.Text(),
                    **signal,
                    "motion": tfds.features.Text(),
                    **people.features(),
                }
            ),
            homepage="https://resources.mpi-inf.mpg.de/HDM05/",
            metadata=tfds.core.MetadataDict(),
        )

    def sources(self, manual_dir) -> dict[str, Source]:
        """Finds the config's archive.

        Raises:
            ArchiveError: When it is missing or cannot be opened.
        """
        config = self.builder_config.name
        key = config if self.is_pack else "HDM05_cut_amc"
        return {key: find_config(manual_dir, CONFIGS, config)}

    def _split_generators(self, dl_manager):
        sources = self.sources(dl_manager.manual_dir)
        (source,) = sources.values()
        split = self._split_pack if self.is_pack else self._split_clips
        return split(sources, source)

    def _split_pack(self, sources, source):
        matrices = packs.matrices_of(source, self.builder_config.name)
        official = packs.MATRICES.get(self.builder_config.name, 0)
        tell_part(self.info, source.title, "the pack", {"matrices": (len(matrices), official)})
        repeats = Repeats(source.title, "matrices", "kept")
        self.info.metadata.update(
            **origins(self.name, sources),
            same_as=repeats.same_as,
            motions=sorted({matrix.motion for matrix in matrices}),
        )
        return {"train": self._generate_matrices(source, matrices, repeats)}

    def _generate_matrices(self, source, matrices, repeats):
        smallest = []
        for item in track(matrices, f"{self.name}, matrices"):
            matrix = packs.read(source.open(item.member), item.member)
            repeats.add(matrix, item.key, "the pack")  # cuts of two motions may share frames
            smallest.append(np.linalg.eigvalsh(matrix)[0])
            yield (
                item.key,
                {
                    "id": item.key,
                    "matrix": matrix,
                    "motion": item.motion,
                    **people.record("", device=DEVICE),
                },
            )
        repeats.report()
        singular = np.sum(np.array(smallest) <= 0)
        if singular:
            log.warning(
                "%s: %d of %d matrices are not positive definite, as they stand in the files; the "
                "smallest eigenvalue is %.3g.",
                source.title, singular, len(smallest), min(smallest),
            )  # fmt: skip

    def _split_clips(self, sources, source):
        clips = clips_of(source)
        actors = sorted({clip.actor for clip in clips})
        motions = sorted({clip.motion for clip in clips})
        held = {
            "clips": (len(clips), CLIPS),
            "motions": (len(motions), MOTIONS),
            "actors": (len(actors), len(ACTORS)),
        }
        tell_part(self.info, source.title, "HDM05", held)
        repeats = Repeats(source.title, "clips", "kept")
        self.info.metadata.update(
            **origins(self.name, sources),
            same_as=repeats.same_as,
            channels=[f"{joint}.{axis}" for joint in JOINTS for axis in "xyz"],
            angles=list(ANGLES),
            rate_hz=RATE_HZ,
            motions=motions,
            subjects={f"actor_{actor}": [actor] for actor in actors},
        )
        return {
            f"actor_{actor}": self._generate_examples(
                source, [clip for clip in clips if clip.actor == actor], repeats, actor
            )
            for actor in actors
        }

    def _generate_examples(self, source, clips, repeats, actor):
        skeletons: dict[str, asf.Skeleton] = {}
        for clip in track(clips, f"{self.name}, {actor}, clips"):
            if clip.asf not in skeletons:
                skeletons[clip.asf] = skeleton_of(source, clip)
            motion = amc.parse(source.open(clip.amc), skeletons[clip.asf], name=clip.amc)
            key = f"{clip.actor}/{clip.motion}/{clip.take}"
            repeats.add(motion.values, key, f"actor {clip.actor}")
            yield (
                key,
                {
                    "id": key,
                    **self._signal(clip, skeletons[clip.asf], motion),
                    "motion": clip.motion,
                    "take": int(clip.take),
                    **people.record(clip.actor, device=DEVICE),
                },
            )
        repeats.report()

    def _signal(self, clip, skeleton, motion):
        columns = [skeleton.joints.index(joint) for joint in JOINTS]
        places = joint_positions(skeleton, motion)[:, columns].reshape(len(motion.values), -1)
        jitter = self.builder_config.jitter
        if jitter is not None:
            matrix = covariance(places, jitter, name=clip.amc)
            return {"matrix": matrix, "frames": len(places)}
        angles = motion.values[:, [skeleton.channels.index(channel) for channel in ANGLES]]
        angles[:, :3] *= skeleton.meters  # the place of the root
        return {"sequence": places.astype(np.float32), "angles": angles.astype(np.float32)}
