"""Reader of mini-ImageNet in the form of three pickles, which many programs expect."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import tensorflow_datasets as tfds

from tfds_builders.common.archive import Source
from tfds_builders.common.builder import Example
from tfds_builders.common.errors import ArchiveError, FormatError, MissingArchiveError
from tfds_builders.common.parts import warn_of_part
from tfds_builders.mini_imagenet_ravi.classes import CLASSES, IMAGES_A_CLASS, SIDE
from tfds_builders.mini_imagenet_ravi.wanted import CACHE, GET
from tfds_builders.parsers import image, image_cache

log = logging.getLogger("tfds_builders")

WORDS = {"train": "train", "val": "validation", "validation": "validation", "test": "test"}


def files_of(source: Source) -> dict[str, str]:
    """Returns the path of the pickle of each existing split, in the order train, validation, test.

    Raises:
        MissingArchiveError: If there is no pickle.
        ArchiveError: If there are two pickles of one split.
    """
    members: dict[str, str] = {}
    for (word,), member in source.index(CACHE).items():
        if members.setdefault(WORDS[word], member) is not member:
            raise ArchiveError(
                f"{source.title} holds the split {WORDS[word]} twice: {members[WORDS[word]]} and "
                f"{member}. Remove one of the two."
            )
    if not members:
        names = source.first_names
        raise MissingArchiveError(
            f"{source.title} holds no mini-imagenet-cache-train.pkl. It holds {names}. {GET}"
        )
    absent = [split for split in CLASSES if split not in members]
    if absent:
        log.warning(
            "%s holds no pickle of the splits %s, so these splits are left out.",
            source.title, " and ".join(absent),
        )  # fmt: skip
    return {split: members[split] for split in CLASSES if split in members}


def examples_of(
    pickle: tuple[str, str], _: object, info: tfds.core.DatasetInfo, source: Source
) -> Iterator[Example]:
    """Yields one example for each image of a pickle. The function also adds the classes of the
    split to the metadata.

    Args:
        pickle: Tuple of the split's name and the path of its pickle in the archive.
        info: Info of the data set. The function adds the classes to `info.metadata`.
        source: The archive.

    Raises:
        FormatError: If the file cannot be read, or if a class belongs to another split.
    """
    split, member = pickle
    cache = image_cache.parse(source.open(member), name=member, side=SIDE)
    strange = sorted({*cache.places} - {*CLASSES[split]})
    if strange:
        raise FormatError(
            member, "key class_dict", f"the file contains the class {strange[0]}",
            f"only classes of the split {split} of Ravi2017",
            "The file is from another split, or has a wrong name. Get the file again.",
        )  # fmt: skip
    official = IMAGES_A_CLASS * len(CLASSES[split])
    warn_of_part(
        info, member, "mini-ImageNet", {f"images of {split}": (len(cache.images), official)}
    )
    classes = info.metadata.setdefault("classes", {})[split] = sorted(cache.places)
    for wnid in classes:
        for number, place in enumerate(cache.places[wnid]):
            pixels = cache.images[place]
            yield f"{wnid}/{number:03d}", {"image": image.png(pixels), "label": wnid}
