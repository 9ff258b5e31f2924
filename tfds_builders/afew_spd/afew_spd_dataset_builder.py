"""Data set of covariance matrices that describe faces in films. The label of a matrix is one of
seven emotions (AFEW, Dhall2014; Huang2017).
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common.archive import Source
from tfds_builders.common.builder import About, Example, Plan, RecordingsBuilder
from tfds_builders.common.errors import ArchiveError, quoted
from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits
from tfds_builders.common.repeats import Contents, Repeats
from tfds_builders.common.spd import symmetric
from tfds_builders.parsers import mat5

log = logging.getLogger("tfds_builders")

SIDE = 400  # a face of 20 x 20 pixels
LABELS = tuple("1234567")
SPLITS = {"train": "train", "val": "validation"}  # keys: folder
MATRICES = {"train": 1_747, "validation": 371}
_MEMBER = re.compile(r"(?:.*/)?(train|val)/([^/]+)/([^/]+)\.mat")
_GET = (
    "Get AFEW_SPD_data.zip, whose address is on https://github.com/zhiwu-huang/SPDNet. Put "
    "the zip file, or the unpacked folder spdface_400_inter_histeq, into the manual folder. "
    "Then run `python -m tfds_builders.build afew_spd --manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="afew_spd",
    stems=("AFEW_SPD_data", "spdface_400_inter_histeq"),
    official="AFEW_SPD_data.zip",
    get=_GET,
    limits=Limits(members=10_000, member_bytes=8 << 20, total_bytes=8 << 30),
)


class Clip(NamedTuple):
    """One clip, described by the parts of its path and the name of its file in the archive."""

    split: str
    label: str
    name: str
    member: str

    @property
    def key(self) -> str:
        return f"{self.split}/{self.label}/{self.name}"

    @property
    def video(self) -> str:
        """Name of the video from which the clip was cut: the name of the clip without its
        number.
        """
        return self.name.rpartition("_")[0] or self.name


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `afew_spd`."""

    ABOUT = About(
        people=0,
        size="2,118 matrices",
        license="given out on request, for research",
        archives=WANTED,
    )
    HOMEPAGE = "https://github.com/zhiwu-huang/SPDNet"
    ARCHIVE_KEY = "AFEW_SPD_data"
    SUPERVISED_KEYS = ("matrix", "label")
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(name="mat", description="One 400 x 400 matrix for each clip."),
    ]

    def features(self) -> dict:
        return {
            "matrix": tfds.features.Tensor(shape=(SIDE, SIDE), dtype=np.float64, encoding="zlib"),
            "label": tfds.features.ClassLabel(names=list(LABELS)),
            "clip": tfds.features.Text(),
            "video": tfds.features.Text(),
            "smallest_eigenvalue": np.float32,
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        clips = clips_of(source)
        counts = {"matrices": (len(clips), sum(MATRICES.values()))}
        self.warn_of_part(source, "AFEW", counts)
        splits = {
            split: [clip for clip in clips if clip.split == split] for split in SPLITS.values()
        }
        videos = {split: {clip.video for clip in members} for split, members in splits.items()}
        shared = videos["train"] & videos["validation"]
        if shared:
            log.warning(
                "%s: %d names of videos occur in both splits (first: %s). The splits may share "
                "people.",
                source.title, len(shared), min(shared),
            )  # fmt: skip
        return Plan(
            splits,
            functools.partial(examples_of, source=source),
            "matrices",
            Repeats(source.title, "matrices", "kept"),
            metadata={"videos": {split: sorted(names) for split, names in videos.items()}},
        )

    def _generate_examples(self, plan: Plan, split: str) -> Iterator[Example]:
        singular = 0
        for key, example in super()._generate_examples(plan, split):
            singular += example["smallest_eigenvalue"] <= 0
            yield key, example
        if singular:
            log.warning(
                "%s, %s: %d matrices are not positive definite. They are kept unchanged.",
                plan.repeats.title, split, singular,
            )  # fmt: skip


def examples_of(clip: Clip, repeats: Repeats | Contents, source: Source) -> Iterator[Example]:
    """Yields the example of a clip. Raises an error if the same matrix occurs under two labels or
    in two splits.
    """
    matrix = parse(source.open(clip.member), name=clip.member)
    repeats.add(matrix, clip.key, f"{clip.split}, {clip.label}")
    yield (
        clip.key,
        {
            "matrix": matrix,
            "label": clip.label,
            "clip": clip.name,
            "video": clip.video,
            "smallest_eigenvalue": np.linalg.eigvalsh(matrix)[0],
        },
    )


def parse(file: BinaryIO, *, name: str, side: int = SIDE) -> np.ndarray:
    """Reads a matrix.

    Args:
        file: The open file.
        name: Name of the file, for error messages.
        side: Required number of rows and columns.

    Returns:
        Finite, exactly symmetric float64 matrix of shape (side, side).

    Raises:
        FormatError: If the file is not a valid MATLAB 5 file, or if the matrix is not symmetric.
    """
    variable = mat5.parse(file, name=name, variables=("Y1",))["Y1"]
    table = mat5.table(variable, side, name=name, location="Y1")
    return symmetric(table.astype(np.float64), name=name)


def clips_of(source: Source) -> list[Clip]:
    """Returns the clips of an archive, in the order of splits, labels and names.

    Raises:
        ArchiveError: If a split has no clip, if a clip has a label that is not 1 to 7, or if a clip
            occurs twice.
    """
    clips: dict[str, Clip] = {}
    for member in source.names:
        match = _MEMBER.fullmatch(member)
        if match is None:
            continue
        folder, label, name = match.groups()
        if label not in LABELS:
            raise ArchiveError(
                f"{source.title}: {quoted(member)} is not in a folder 1 to 7 of train or val. "
                "Remove all files that are not from the official archive."
            )
        clip = Clip(SPLITS[folder], label, name, member)
        if clips.setdefault(clip.key, clip) is not clip:
            raise ArchiveError(
                f"{source.title} holds the same clip twice: {clips[clip.key].member} and {member}. "
                "Remove one of the two folders."
            )
    absent = set(SPLITS.values()) - {clip.split for clip in clips.values()}
    if absent:
        kinds = " and no files ".join(
            f"{folder}/<1-7>/<clip>.mat" for folder, split in SPLITS.items() if split in absent
        )
        names = source.first_names
        raise ArchiveError(f"{source.title} holds no files {kinds}. It holds {names}. {_GET}")
    return sorted(clips.values())
