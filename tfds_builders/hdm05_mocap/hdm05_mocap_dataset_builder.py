"""Motion capture of five actors, cut into clips of one motion each (HDM05, Mueller2007)."""

from __future__ import annotations

import dataclasses
import logging
import re
from typing import NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.archive import Source
from tfds_builders.common.builder import AloneMixin
from tfds_builders.common.checks import origins
from tfds_builders.common.errors import ArchiveError, FormatError, shown
from tfds_builders.common.find import Wanted, find
from tfds_builders.common.limits import Limits
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Repeats
from tfds_builders.common.spd import JITTER, covariance
from tfds_builders.hdm05_mocap.kinematics import joint_positions
from tfds_builders.parsers import amc, asf

log = logging.getLogger("tfds_builders")

ACTORS = ("bd", "bk", "dg", "mm", "tr")
CLIPS, MOTIONS = 2_337, 130
RATE_HZ = 120
DEVICE = "Vicon"
TURNS = {
    "lhipjoint": "", "lfemur": "xyz", "ltibia": "x", "lfoot": "xz", "ltoes": "x",
    "rhipjoint": "", "rfemur": "xyz", "rtibia": "x", "rfoot": "xz", "rtoes": "x",
    "lowerback": "xyz", "upperback": "xyz", "thorax": "xyz",
    "lowerneck": "xyz", "upperneck": "xyz", "head": "xyz",
    "lclavicle": "yz", "lhumerus": "xyz", "lradius": "x", "lwrist": "y",
    "lhand": "xz", "lfingers": "x", "lthumb": "xz",
    "rclavicle": "yz", "rhumerus": "xyz", "rradius": "x", "rwrist": "y",
    "rhand": "xz", "rfingers": "x", "rthumb": "xz",
}  # fmt: skip
JOINTS = (asf.ROOT, *TURNS)
ANGLES = (
    *(f"{asf.ROOT}.{channel}" for channel in asf.ROOT_ORDER),
    *(f"{bone}.r{axis}" for bone, axes in TURNS.items() for axis in axes),
)
_CLIP = r"HDM_([a-z]+)_(\w+)_(\d{1,6})_(\d{1,6})\.(?i:amc)"
_GET = (
    "Get the cut motions as AMC (HDM05_cut_amc, CC BY-SA 3.0) from "
    "https://resources.mpi-inf.mpg.de/HDM05/, put the archive or the unpacked folder "
    "HDM05_cut_amc into the manual folder, and run `python -m tfds_builders.build hdm05_mocap "
    "--manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="hdm05_mocap",
    aliases=("hdm05",),
    stems=(
        "HDM05_cut_amc",
        "HDM05_cut_amc_bd_bk_dg_mm",
        *(f"HDM05_cut_amc_{actor}" for actor in ACTORS),
    ),
    loose=r"HDM_[a-z]+\.(?i:asf)",
    official="HDM05_cut_amc.zip",
    get=_GET,
    limits=Limits(members=10_000, member_bytes=32 << 20, total_bytes=4 << 30),
)


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """What a record has of its clip.

    Attributes:
        jitter: None for the sequences; for covariance matrices, what is added to the diagonal as a
            fraction of the mean variance.
    """

    jitter: float | None = None


class Clip(NamedTuple):
    """Whose motion it is, and the members of the archive that hold it."""

    actor: str
    motion: str
    take: str
    amc: str
    asf: str


class Builder(AloneMixin, tfds.core.GeneratorBasedBuilder):
    """Builder of `hdm05_mocap`."""

    VERSION = tfds.core.Version("2.0.0")
    RELEASE_NOTES = {
        "2.0.0": "`session`, `day` and `device`; `actor` is `subject`.",
        "1.0.0": "First release.",
    }
    MANUAL_DOWNLOAD_INSTRUCTIONS = _GET
    BUILDER_CONFIGS = [
        Config(
            name="sequences", description="Positions and angles of 31 joints, 120 frames a second."
        ),
        Config(
            name="spd93",
            description="One 93 x 93 covariance matrix of the positions a clip.",
            jitter=JITTER,
        ),
    ]

    def _info(self):
        if self.builder_config.jitter is None:
            signal = {
                "sequence": tfds.features.Tensor(shape=(None, 3 * len(JOINTS)), dtype=np.float32),
                "angles": tfds.features.Tensor(shape=(None, len(ANGLES)), dtype=np.float32),
            }
        else:
            shape = (3 * len(JOINTS),) * 2
            signal = {
                "matrix": tfds.features.Tensor(shape=shape, dtype=np.float64, encoding="zlib"),
                "frames": np.int32,
            }
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "id": tfds.features.Text(),
                    **signal,
                    "motion": tfds.features.Text(),
                    "take": np.int32,
                    **people.features(),
                }
            ),
            homepage="https://resources.mpi-inf.mpg.de/HDM05/",
            metadata=tfds.core.MetadataDict(),
        )

    def sources(self, manual_dir) -> dict[str, Source]:
        """Finds the archive.

        Raises:
            ArchiveError: When it is missing or cannot be opened.
        """
        return {"HDM05_cut_amc": find(manual_dir, WANTED)}

    def _split_generators(self, dl_manager):
        sources = self.sources(dl_manager.manual_dir)
        (source,) = sources.values()
        clips = clips_of(source)
        actors = sorted({clip.actor for clip in clips})
        motions = sorted({clip.motion for clip in clips})
        if len(clips) < CLIPS:
            log.warning(
                "%s holds %d of %d clips, %d of %d motions and %d of %d actors: a part of HDM05.",
                source.title, len(clips), CLIPS, len(motions), MOTIONS, len(actors), len(ACTORS),
            )  # fmt: skip
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


def clips_of(source: Source) -> list[Clip]:
    """Returns the clips of an archive, in the order of actors, motions and takes.

    Raises:
        ArchiveError: When there are none, one has another rate, or its skeleton is not there.
    """
    found = source.index(_CLIP)
    if not found:
        names = ", ".join(source.names[:5]) or "nothing"
        raise ArchiveError(
            f"{source.title} holds no HDM_<actor>_<motion>_<take>_120.amc; it holds {names}. {_GET}"
        )
    skeletons: dict[tuple[str, str], str] = {}  # (folder, actor): member
    for name in source.names:
        folder, _, file = name.rpartition("/")
        if match := re.fullmatch(r"(?i:HDM)_([a-z]+)\.(?i:asf)", file):
            skeletons[folder, match[1]] = name
    clips = []
    for (actor, motion, take, rate), name in sorted(found.items()):
        if int(rate) != RATE_HZ:
            raise ArchiveError(
                f"{source.title}: {name} has {rate} frames a second, expected {RATE_HZ}. Take the "
                "clips as HDM05 offers them."
            )
        skeleton = skeletons.get((name.rpartition("/")[0], actor))
        if skeleton is None:
            raise ArchiveError(
                f"{source.title}: {name} has no skeleton HDM_{actor}.asf in its folder. Unpack the "
                "archive again, or copy that actor's .asf there."
            )
        clips.append(Clip(actor, motion, take, name, skeleton))
    return clips


def skeleton_of(source: Source, clip: Clip) -> asf.Skeleton:
    """Returns the skeleton of a clip.

    Raises:
        FormatError: When it cannot be read or has other joints than those of HDM05.
    """
    skeleton = asf.parse(source.open(clip.asf), name=clip.asf)
    odd = {*skeleton.joints, *skeleton.channels} ^ {*JOINTS, *ANGLES}
    if odd:
        raise FormatError(
            clip.asf, "", f"a skeleton that differs in {shown(', '.join(sorted(odd)[:5]))}",
            "the 31 joints and 62 channels of HDM05", "Unpack the archive again.",
        )  # fmt: skip
    return skeleton
