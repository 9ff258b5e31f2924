"""Images of 100 classes in small, for learning from few (mini-ImageNet, Vinyals2016; Ravi2017)."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common.about import About
from tfds_builders.common.builder import AloneMixin
from tfds_builders.common.checks import origins
from tfds_builders.common.errors import FormatError, MissingArchiveError
from tfds_builders.common.find import find
from tfds_builders.common.parts import tell_part
from tfds_builders.common.progress import track
from tfds_builders.common.source import Source
from tfds_builders.mini_imagenet_ravi import cached
from tfds_builders.mini_imagenet_ravi.classes import CLASSES, IMAGES_A_CLASS, SIDE
from tfds_builders.mini_imagenet_ravi.wanted import GET, IMAGES, LISTS, PICKLES
from tfds_builders.parsers import image, ravi

FILES = {"train": "train.csv", "validation": "val.csv", "test": "test.csv"}
_IMAGE = r"(n\d{16}\.jpg)"


class Item(NamedTuple):
    """One image: its name in the list, its class, and its member in the archive."""

    file: str
    label: str
    member: str


class Builder(AloneMixin, tfds.core.GeneratorBasedBuilder):
    """Builder of `mini_imagenet_ravi`."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = GET
    ABOUT = About(
        people=0,
        size="60,000 images, 2.9 GB",
        license="ImageNet's: for research",
        archives={"images": IMAGES, "cache_pkl": PICKLES},
        besides={"images": LISTS},
    )
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(
            name="images", description="The images that the lists name, as 84 x 84 pixels."
        ),
        tfds.core.BuilderConfig(name="cache_pkl", description="The images of three pickles."),
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
        """Finds the pickles, or the lists and the images.

        Raises:
            ArchiveError: When one is missing or cannot be opened.
        """
        if self.builder_config.name == "cache_pkl":
            return {"cache": find(manual_dir, PICKLES)}
        return {
            "lists": find(manual_dir, LISTS).only(r".*\.csv"),
            "images": find(manual_dir, IMAGES),
        }

    def _split_generators(self, dl_manager):
        sources = self.sources(dl_manager.manual_dir)
        self.info.metadata.update(**origins(self.name, sources))
        return self._cached(**sources) if "cache" in sources else self._listed(**sources)

    def _generate_examples(self, examples):
        for key, pixels, label in examples:
            yield key, {"id": key, "image": png(pixels), "label": label}

    def _cached(self, cache: Source):
        return {
            split: self._generate_examples(cached.examples_of(self.info, cache, member, split))
            for split, member in cached.files_of(cache).items()
        }

    def _listed(self, lists: Source, images: Source):
        items = items_of(images, read_lists(lists))
        count = sum(map(len, items.values()))
        official = IMAGES_A_CLASS * sum(map(len, CLASSES.values()))
        tell_part(self.info, images.title, "mini-ImageNet", {"images": (count, official)})
        self.info.metadata.update(
            classes={split: sorted({item.label for item in held}) for split, held in items.items()}
        )
        return {
            split: self._generate_examples(
                examples_of(images, track(held, f"{self.name}, {split}, images"))
            )
            for split, held in items.items()
        }


def read_lists(source: Source) -> dict[str, dict[str, str]]:
    """Reads the lists of a source, in whatever folder: class by image, by split.

    Raises:
        MissingArchiveError: When one is not there.
        FormatError: See `parsers.ravi`, or a class is one of another split.
    """
    found = {}
    for split, file in FILES.items():
        members = [name for name in source.names if _is_list(name, file)]
        if len(members) != 1:
            held = ", ".join(members) or source.listed
            raise MissingArchiveError(f"{source.title} holds {held}, expected one {file}. {GET}")
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
            names = source.listed
            raise MissingArchiveError(
                f"{source.title} holds no image of {FILES[split]}, such as {min(labels)}; it holds "
                f"{names}. {GET}"
            )
        items[split] = [Item(file, labels[file], members[file]) for file in held]
    return items


def examples_of(source: Source, items: Iterable[Item]) -> Iterator[tuple[str, np.ndarray, str]]:
    """Yields key, pixels and class of each image.

    Raises:
        FormatError: When one cannot be read.
    """
    for item in items:
        pixels = image.resized(source.open(item.member), name=item.member, side=SIDE)
        yield item.file.removesuffix(".jpg"), pixels, item.label


def png(pixels: np.ndarray) -> io.BytesIO:
    """Returns an image as a PNG file, which keeps every pixel."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    file.seek(0)
    return file
