"""Functions that find the clips of HDM05 in an archive and read the skeletons of the actors."""

from __future__ import annotations

import re
from typing import NamedTuple

from tfds_builders.common.archive import Source
from tfds_builders.common.errors import ArchiveError, FormatError, quoted
from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits
from tfds_builders.parsers import asf

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
    "Get the cut motions as AMC files (HDM05_cut_amc, CC BY-SA 3.0) from "
    "https://resources.mpi-inf.mpg.de/HDM05/. Put the archive, or the unpacked folder "
    "HDM05_cut_amc, into the manual folder. Then run `python -m tfds_builders.build "
    "hdm05_mocap --manual-dir FOLDER`."
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


class Clip(NamedTuple):
    """One clip, described by its actor, motion and take, and by the paths of its files in the
    archive.
    """

    actor: str
    motion: str
    take: str
    amc: str
    asf: str


def clips_of(source: Source) -> list[Clip]:
    """Returns the clips of an archive, in the order of actors, motions and takes.

    Raises:
        ArchiveError: If the archive has no clip, if the frame rate of a clip is not the expected
            rate, or if a clip has no skeleton.
    """
    members = source.index(_CLIP)
    if not members:
        names = source.first_names
        raise ArchiveError(
            f"{source.title} holds no HDM_<actor>_<motion>_<take>_120.amc. It holds {names}. {_GET}"
        )
    skeletons: dict[tuple[str, str], str] = {}  # (folder, actor): member
    for name in source.names:
        folder, _, file = name.rpartition("/")
        if match := re.fullmatch(r"(?i:HDM)_([a-z]+)\.(?i:asf)", file):
            skeletons[folder, match[1]] = name
    clips = []
    for (actor, motion, take, rate), name in sorted(members.items()):
        if int(rate) != RATE_HZ:
            raise ArchiveError(
                f"{source.title}: {name} has {rate} frames per second, expected {RATE_HZ}. Use "
                "the unchanged files of HDM05."
            )
        skeleton = skeletons.get((name.rpartition("/")[0], actor))
        if skeleton is None:
            raise ArchiveError(
                f"{source.title}: {name} has no skeleton HDM_{actor}.asf in its folder. Unpack the "
                "archive again, or copy the .asf file of that actor into the folder."
            )
        clips.append(Clip(actor, motion, take, name, skeleton))
    return clips


def skeleton_of(source: Source, clip: Clip) -> asf.Skeleton:
    """Returns the skeleton of a clip.

    Raises:
        FormatError: If the skeleton cannot be read, or if its joints are not the joints of HDM05.
    """
    skeleton = asf.parse(source.open(clip.asf), name=clip.asf)
    odd = {*skeleton.joints, *skeleton.channels} ^ {*JOINTS, *ANGLES}
    if odd:
        raise FormatError(
            clip.asf, "", f"the skeleton differs in {quoted(', '.join(sorted(odd)[:5]))}",
            "the 31 joints and 62 channels of HDM05", "Unpack the archive again.",
        )  # fmt: skip
    return skeleton
