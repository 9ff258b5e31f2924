"""Data set with small images of 100 classes for few-shot learning (mini-ImageNet, Vinyals2016;
Ravi2017).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from typing import NamedTuple

import tensorflow_datasets as tfds

from tfds_builders.common.archive import Source
from tfds_builders.common.builder import About, Example, Plan, RecordingsBuilder
from tfds_builders.common.errors import FormatError, MissingArchiveError
from tfds_builders.common.find import find
from tfds_builders.mini_imagenet_ravi import cached
from tfds_builders.mini_imagenet_ravi.classes import CLASSES, IMAGES_A_CLASS, SIDE
from tfds_builders.mini_imagenet_ravi.wanted import GET, IMAGES, LISTS, PICKLES
from tfds_builders.parsers import image, ravi

FILES = {"train": "train.csv", "validation": "val.csv", "test": "test.csv"}
_IMAGE = r"(n\d{16}\.jpg)"


class Item(NamedTuple):
    """One image, described by its name in the list, its class, and the path of its file in the
    archive.
    """

    file: str
    label: str
    member: str


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `mini_imagenet_ravi`."""

    ABOUT = About(
        people=0,
        size="60,000 images, 2.9 GB",
        license="for research only",
        archives={"images": IMAGES, "cache_pkl": PICKLES},
        besides={"images": LISTS},
    )
    HOMEPAGE = "https://github.com/twitter-research/meta-learning-lstm"
    SUPERVISED_KEYS = ("image", "label")
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(
            name="images", description="The images that the lists name, at 84 x 84 pixels."
        ),
        tfds.core.BuilderConfig(name="cache_pkl", description="The images in three pickles."),
    ]

    def features(self) -> dict:
        names = [wnid for wnids in CLASSES.values() for wnid in wnids]
        return {
            "image": tfds.features.Image(shape=(SIDE, SIDE, 3), encoding_format="png"),
            "label": tfds.features.ClassLabel(names=names),
        }

    def sources(self, manual_dir: str | os.PathLike) -> dict[str, Source]:
        if self.builder_config.name == "cache_pkl":
            return {"cache": find(manual_dir, PICKLES)}
        return {
            "lists": find(manual_dir, LISTS).only(r".*\.csv"),
            "images": find(manual_dir, IMAGES),
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        return self._of_pickles(**sources) if "cache" in sources else self._of_lists(**sources)

    def _of_pickles(self, cache: Source) -> Plan:
        members = cached.files_of(cache)
        return Plan(
            {split: [(split, member)] for split, member in members.items()},
            functools.partial(cached.examples_of, info=self.info, source=cache),
            "pickles",
            is_independent=False,  # reading adds the classes of each pickle to the metadata
        )

    def _of_lists(self, lists: Source, images: Source) -> Plan:
        splits = items_of(images, read_lists(lists))
        count = sum(map(len, splits.values()))
        official = IMAGES_A_CLASS * sum(map(len, CLASSES.values()))
        self.warn_of_part(images, "mini-ImageNet", {"images": (count, official)})
        classes = {split: sorted({item.label for item in items}) for split, items in splits.items()}
        return Plan(
            splits,
            functools.partial(examples_of, source=images),
            "images",
            metadata={"classes": classes},
        )


def examples_of(item: Item, _: object, source: Source) -> Iterator[Example]:
    """Yields the example of an image."""
    pixels = image.resized(source.open(item.member), name=item.member, side=SIDE)
    yield item.file.removesuffix(".jpg"), {"image": image.png(pixels), "label": item.label}


def read_lists(source: Source) -> dict[str, dict[str, str]]:
    """Reads the lists, which may be in any folder. For each split, returns a dictionary from the
    name of each image to the class of the image.

    Raises:
        MissingArchiveError: If a list is missing.
        FormatError: If a list cannot be read, or if a class belongs to another split.
    """
    labels = {}
    for split, file in FILES.items():
        members = [name for name in source.names if _is_list(name, file)]
        if len(members) != 1:
            names = ", ".join(members) or source.first_names
            raise MissingArchiveError(f"{source.title} holds {names}, expected one {file}. {GET}")
        labels[split] = ravi.parse(source.open(members[0]), name=members[0]).labels
        strange = sorted({*labels[split].values()} - {*CLASSES[split]})
        if strange:
            raise FormatError(
                members[0], "", f"the list contains the class {strange[0]}",
                f"only classes of the split {split} of Ravi2017",
                "The list is from another split, or has a wrong name. Get the list again.",
            )  # fmt: skip
    return labels


def _is_list(name: str, file: str) -> bool:
    """Returns whether a file is a list of Ravi2017. Lists of Vinyals2016 are in the folder
    `vinyals`.
    """
    *folders, last = name.split("/")
    return last == file and "vinyals" not in folders


def items_of(source: Source, lists: dict[str, dict[str, str]]) -> dict[str, list[Item]]:
    """For each split, returns the images that the archive contains, sorted by name.

    Raises:
        MissingArchiveError: If a split has no image.
        ArchiveError: If the archive contains an image twice.
    """
    members = {name: member for (name,), member in source.index(_IMAGE).items()}
    items = {}
    for split, labels in lists.items():
        files = sorted(labels.keys() & members.keys())
        if not files:
            names = source.first_names
            raise MissingArchiveError(
                f"{source.title} holds no image of {FILES[split]}, such as {min(labels)}. It holds "
                f"{names}. {GET}"
            )
        items[split] = [Item(file, labels[file], members[file]) for file in files]
    return items
