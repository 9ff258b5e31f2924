"""Images of 100 classes in small, for learning from few (mini-ImageNet, Vinyals2016; Ravi2017)."""

from __future__ import annotations

import io
import logging
from typing import NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common.archive import Source
from tfds_builders.common.builder import AloneMixin
from tfds_builders.common.checks import origins
from tfds_builders.common.errors import FormatError, MissingArchiveError
from tfds_builders.common.find import Wanted, find
from tfds_builders.common.limits import Limits
from tfds_builders.common.progress import track
from tfds_builders.mini_imagenet_ravi.classes import CLASSES
from tfds_builders.parsers import image as images
from tfds_builders.parsers import ravi

log = logging.getLogger("tfds_builders")

SIDE = 84
IMAGES_A_CLASS = 600
LISTS = {"train": "train.csv", "validation": "val.csv", "test": "test.csv"}
_IMAGE = r"(n\d{16}\.jpg)"
_GET = (
    "Get train.csv, val.csv and test.csv from data/miniImagenet of "
    "https://github.com/twitter-research/meta-learning-lstm and the images of ImageNet (research "
    "only) by the names in them, n0153282900000005.jpg, known as images.zip (2.9 GB), put "
    "all of it into a folder mini_imagenet_ravi within the manual folder, and run "
    "`python -m tfds_builders.build mini_imagenet_ravi --manual-dir FOLDER`."
)
_LIMITS = Limits(members=100_000, member_bytes=64 << 20, total_bytes=16 << 30)
WANTED = {
    "lists": Wanted(
        dataset="mini_imagenet_ravi",
        aliases=("mini_imagenet_splits",),
        stems=("mini_imagenet_splits", "miniImagenet"),
        loose=r"(train|val|test)\.csv|ravi",
        official="train.csv",
        get=_GET,
        limits=_LIMITS,
    ),
    "images": Wanted(
        dataset="mini_imagenet_ravi",
        stems=("images", "miniImagenet"),
        official="images.zip",
        get=_GET,
        limits=_LIMITS,
    ),
}


class Item(NamedTuple):
    """One image: its name in the list, its class, and its member in the archive."""

    file: str
    label: str
    member: str


class Builder(AloneMixin, tfds.core.GeneratorBasedBuilder):
    """Builder of `mini_imagenet_ravi`."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = _GET
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(
            name="images", description="The images that the lists name, as 84 x 84 pixels."
        ),
    ]

    def _info(self):
        names = [wnid for wnids in CLASSES.values() for wnid in wnids]
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "id": tfds.features.Text(),
                    "image": tfds.features.Image(shape=(SIDE, SIDE, 3), encoding_format="png"),
                    "label": tfds.features.ClassLabel(names=names),
                }
            ),
            supervised_keys=("image", "label"),
            homepage="https://github.com/twitter-research/meta-learning-lstm",
            metadata=tfds.core.MetadataDict(),
        )

    def sources(self, manual_dir) -> dict[str, Source]:
        """Finds the lists and the images.

        Raises:
            ArchiveError: When one is missing or cannot be opened.
        """
        return {key: find(manual_dir, wanted) for key, wanted in WANTED.items()}

    def _split_generators(self, dl_manager):
        sources = self.sources(dl_manager.manual_dir)
        items = items_of(sources["images"], read_lists(sources["lists"]))
        count = sum(map(len, items.values()))
        official = IMAGES_A_CLASS * sum(map(len, CLASSES.values()))
        if count < official:
            log.warning(
                "%s holds %d of %d images: a part of mini-ImageNet.",
                sources["images"].title, count, official,
            )  # fmt: skip
        self.info.metadata.update(
            **origins(self.name, sources),
            classes={split: sorted({item.label for item in held}) for split, held in items.items()},
        )
        return {
            split: self._generate_examples(sources["images"], held, split)
            for split, held in items.items()
        }

    def _generate_examples(self, source, items, split):
        for item in track(items, f"{self.name}, {split}, images"):
            pixels = images.resized(source.open(item.member), name=item.member, side=SIDE)
            key = item.file.removesuffix(".jpg")
            yield key, {"id": key, "image": png(pixels), "label": item.label}


def read_lists(source: Source) -> dict[str, dict[str, str]]:
    """Reads the lists of a source, in whatever folder: class by image, by split.

    Raises:
        MissingArchiveError: When one is not there.
        FormatError: See `parsers.ravi`, or a class is one of another split.
    """
    found = {}
    for split, file in LISTS.items():
        members = [name for name in source.names if _is_list(name, file)]
        if len(members) != 1:
            held = ", ".join(members) or ", ".join(source.names[:5]) or "nothing"
            raise MissingArchiveError(f"{source.title} holds {held}, expected one {file}. {_GET}")
        found[split] = ravi.parse(source.open(members[0]), name=members[0]).labels
        strange = sorted({*found[split].values()} - {*CLASSES[split]})
        if strange:
            raise FormatError(
                members[0], "", f"the class {strange[0]}",
                f"those of the split {split} of Ravi2017",
                "This is another split, or another list under this name.",
            )  # fmt: skip
    return found


def _is_list(name: str, file: str) -> bool:
    """Whether a member is a list; lists of Vinyals2016 lie beside in a folder of their own."""
    *folders, last = name.split("/")
    return last == file and "vinyals" not in folders


def items_of(source: Source, lists: dict[str, dict[str, str]]) -> dict[str, list[Item]]:
    """Returns the images of each split that are there, in the order of their names.

    Raises:
        MissingArchiveError: When a split has none.
        ArchiveError: When an image is there twice.
    """
    members = {name: member for (name,), member in source.index(_IMAGE).items()}
    items = {}
    for split, labels in lists.items():
        held = sorted(labels.keys() & members.keys())
        if not held:
            names = ", ".join(source.names[:5]) or "nothing"
            raise MissingArchiveError(
                f"{source.title} holds no image of {LISTS[split]}, such as {min(labels)}; it holds "
                f"{names}. {_GET}"
            )
        items[split] = [Item(file, labels[file], members[file]) for file in held]
    return items


def png(pixels: np.ndarray) -> io.BytesIO:
    """Returns an image as a PNG file, which keeps every pixel."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    file.seek(0)
    return file
