"""mini-ImageNet as three pickles, which many programs read."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common.errors import ArchiveError, FormatError, MissingArchiveError
from tfds_builders.common.parts import tell_part
from tfds_builders.common.source import Source
from tfds_builders.mini_imagenet_ravi.classes import CLASSES, IMAGES_A_CLASS, SIDE
from tfds_builders.mini_imagenet_ravi.wanted import CACHE, GET
from tfds_builders.parsers import image_cache

log = logging.getLogger("tfds_builders")

WORDS = {"train": "train", "val": "validation", "validation": "validation", "test": "test"}


def files_of(source: Source) -> dict[str, str]:
    """Returns the member of each split that is there, in the order of train, validation, test.

    Raises:
        MissingArchiveError: When there is none.
        ArchiveError: When one is there twice.
    """
    found: dict[str, str] = {}
    for (word,), member in source.index(CACHE).items():
        if found.setdefault(WORDS[word], member) is not member:
            raise ArchiveError(
                f"{source.title} holds the split {WORDS[word]} twice: {found[WORDS[word]]} and "
                f"{member}. Keep one of the two."
            )
    if not found:
        names = source.listed
        raise MissingArchiveError(
            f"{source.title} holds no mini-imagenet-cache-train.pkl; it holds {names}. {GET}"
        )
    absent = [split for split in CLASSES if split not in found]
    if absent:
        log.warning("%s holds no pickle of %s: left out.", source.title, " and ".join(absent))
    return {split: found[split] for split in CLASSES if split in found}


def examples_of(
    info: tfds.core.DatasetInfo, source: Source, member: str, split: str
) -> Iterator[tuple[str, np.ndarray, str]]:
    """Yields key, pixels and class of each image; the metadata get the split's classes.

    Raises:
        FormatError: See `parsers.image_cache`, or a class is one of another split.
    """
    cache = image_cache.parse(source.open(member), name=member, side=SIDE)
    strange = sorted({*cache.places} - {*CLASSES[split]})
    if strange:
        raise FormatError(
            member, "key class_dict", f"the class {strange[0]}",
            f"those of the split {split} of Ravi2017",
            "This is another split, or another file under this name.",
        )  # fmt: skip
    official = IMAGES_A_CLASS * len(CLASSES[split])
    tell_part(info, member, "mini-ImageNet", {f"images of {split}": (len(cache.images), official)})
    classes = info.metadata.setdefault("classes", {})[split] = sorted(cache.places)
    for wnid in classes:
        for number, place in enumerate(cache.places[wnid]):
            yield f"{wnid}/{number:03d}", cache.images[place], wnid
