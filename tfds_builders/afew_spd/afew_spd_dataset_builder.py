"""Covariance matrices of faces in films, seven emotions (AFEW, Dhall2014; matrices of
Huang2017)."""

from __future__ import annotations

import logging
import re
from typing import BinaryIO, NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common.about import About
from tfds_builders.common.builder import AloneMixin
from tfds_builders.common.checks import origins
from tfds_builders.common.errors import ArchiveError, shown
from tfds_builders.common.find import Wanted, find
from tfds_builders.common.limits import Limits
from tfds_builders.common.parts import tell_part
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Repeats
from tfds_builders.common.source import Source
from tfds_builders.common.spd import symmetric
from tfds_builders.parsers import mat5

log = logging.getLogger("tfds_builders")

SIDE = 400  # a face of 20 x 20 pixels
LABELS = tuple("1234567")
SPLITS = {"train": "train", "val": "validation"}  # by folder
MATRICES = {"train": 1_747, "validation": 371}
_MEMBER = re.compile(r"(?:.*/)?(train|val)/([^/]+)/([^/]+)\.mat")
_GET = (
    "Get AFEW_SPD_data.zip, whose address https://github.com/zhiwu-huang/SPDNet gives, put it or "
    "its unpacked folder spdface_400_inter_histeq into the manual folder, and run "
    "`python -m tfds_builders.build afew_spd --manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="afew_spd",
    stems=("AFEW_SPD_data", "spdface_400_inter_histeq"),
    official="AFEW_SPD_data.zip",
    get=_GET,
    limits=Limits(members=10_000, member_bytes=8 << 20, total_bytes=8 << 30),
)


class Clip(NamedTuple):
    """One clip: what its path says, and its member in the archive."""

    split: str
    label: str
    name: str
    member: str

    @property
    def key(self) -> str:
        return f"{self.split}/{self.label}/{self.name}"

    @property
    def video(self) -> str:
        """The video that it was cut from: the name without the number of the clip."""
        return self.name.rpartition("_")[0] or self.name


class Builder(AloneMixin, tfds.core.GeneratorBasedBuilder):
    """Builder of `afew_spd`."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = _GET
    ABOUT = About(
        people=0,
        size="2,118 matrices",
        license="given out on request, for research",
        archives=WANTED,
    )
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(name="mat", description="One 400 x 400 matrix a clip."),
    ]

    def _info(self):
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "id": tfds.features.Text(),
                    "matrix": tfds.features.Tensor(
                        shape=(SIDE, SIDE), dtype=np.float64, encoding="zlib"
                    ),
                    "label": tfds.features.ClassLabel(names=list(LABELS)),
                    "clip": tfds.features.Text(),
                    "video": tfds.features.Text(),
                    "smallest_eigenvalue": np.float32,
                }
            ),
            supervised_keys=("matrix", "label"),
            homepage="https://github.com/zhiwu-huang/SPDNet",
            metadata=tfds.core.MetadataDict(),
        )

    def sources(self, manual_dir) -> dict[str, Source]:
        """Finds the archive.

        Raises:
            ArchiveError: When it is missing or cannot be opened.
        """
        return {"AFEW_SPD_data": find(manual_dir, WANTED)}

    def _split_generators(self, dl_manager):
        sources = self.sources(dl_manager.manual_dir)
        (source,) = sources.values()
        clips = clips_of(source)
        held = {"matrices": (len(clips), sum(MATRICES.values()))}
        tell_part(self.info, source.title, "AFEW", held)
        splits = {
            split: [clip for clip in clips if clip.split == split] for split in SPLITS.values()
        }
        videos = {split: {clip.video for clip in members} for split, members in splits.items()}
        shared = videos["train"] & videos["validation"]
        if shared:
            log.warning(
                "%s: %d names of videos are in both splits, %s first: the same people may be.",
                source.title, len(shared), min(shared),
            )  # fmt: skip
        repeats = Repeats(source.title, "matrices", "kept")
        self.info.metadata.update(
            **origins(self.name, sources),
            same_as=repeats.same_as,
            videos={split: sorted(names) for split, names in videos.items()},
        )
        return {
            split: self._generate_examples(source, members, repeats, split)
            for split, members in splits.items()
        }

    def _generate_examples(self, source, clips, repeats, split):
        singular = 0
        for clip in track(clips, f"{self.name}, {split}, matrices"):
            matrix = parse(source.open(clip.member), name=clip.member)
            smallest = np.linalg.eigvalsh(matrix)[0]
            singular += smallest <= 0
            repeats.add(matrix, clip.key, f"{clip.split}, {clip.label}")
            yield (
                clip.key,
                {
                    "id": clip.key,
                    "matrix": matrix,
                    "label": clip.label,
                    "clip": clip.name,
                    "video": clip.video,
                    "smallest_eigenvalue": smallest,
                },
            )
        repeats.report()
        if singular:
            log.warning(
                "%s, %s: %d matrices are not positive definite; they are kept as they are.",
                source.title, split, singular,
            )  # fmt: skip


def parse(file: BinaryIO, *, name: str, side: int = SIDE) -> np.ndarray:
    """Reads a matrix.

    Args:
        file: The open file.
        name: Its name, for errors.
        side: Rows, and columns, that it must have.

    Returns:
        (side, side) float64, finite and exactly symmetric.

    Raises:
        FormatError: See `parsers.mat5`, or when it is not symmetric.
    """
    held = mat5.parse(file, name=name, variables=("Y1",))["Y1"]
    table = mat5.table(held, side, name=name, location="Y1")
    return symmetric(table.astype(np.float64), name=name)


def clips_of(source: Source) -> list[Clip]:
    """Returns the clips of an archive, in the order of splits, labels and names.

    Raises:
        ArchiveError: When a split has none, one has another label, or one stands twice.
    """
    clips: dict[str, Clip] = {}
    for member in source.names:
        match = _MEMBER.fullmatch(member)
        if match is None:
            continue
        folder, label, name = match.groups()
        if label not in LABELS:
            raise ArchiveError(
                f"{source.title}: {shown(member)} is not in a folder 1 to 7 of train or val. Keep "
                "only what the archive holds."
            )
        clip = Clip(SPLITS[folder], label, name, member)
        if clips.setdefault(clip.key, clip) is not clip:
            raise ArchiveError(
                f"{source.title} holds the same clip twice: {clips[clip.key].member} and {member}. "
                "Keep one of the two folders."
            )
    absent = set(SPLITS.values()) - {clip.split for clip in clips.values()}
    if absent:
        names = source.listed
        raise ArchiveError(
            f"{source.title} holds no train/<1-7>/<clip>.mat or no val/<1-7>/<clip>.mat; it holds "
            f"{names}. {_GET}"
        )
    return sorted(clips.values())
