"""Parser for pickles of mini-ImageNet. A pickle contains all images of one split, and the indices
of the images of each class.

The content of a pickle is `{"image_data": uint8 (N, 84, 84, 3), "class_dict": {"n01532829": [0, 1,
...], ...}}`. The parser does not run code from the pickle.
"""

from __future__ import annotations

import dataclasses
import re
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.common.unpickle import PickledArray, unpickle

_KEYS = {"image_data", "class_dict"}
_WNID = re.compile(r"n\d{8}", re.ASCII)
_FIX = "The file seems to be incomplete or from another data set. Get it again."


@dataclasses.dataclass(frozen=True)
class Cache:
    """Images of a split and their classes.

    Attributes:
        images: At least one read-only image, shape (N, side, side, 3), uint8.
        places: Mapping from the WordNet id of each class to the indices of its images. Each image
            has one class.
    """

    images: np.ndarray
    places: dict[str, tuple[int, ...]]


def parse(file: BinaryIO, *, name: str, side: int) -> Cache:
    """Reads a pickle. The function needs about three times the size of the file in memory.

    Args:
        file: The open file.
        name: Name of the file, for error messages.
        side: Required number of pixels on each side of an image.

    Returns:
        The images and their classes.

    Raises:
        FormatError: If `common.unpickle` refuses the pickle, if a key, type or shape is unexpected,
            or if an image has no class or two classes.
    """
    content = unpickle(file.read(), name=name)
    if not isinstance(content, dict) or content.keys() != _KEYS:
        received = f"the content is {quoted(type(content))}"
        if isinstance(content, dict):
            received = f"the dict has the keys {quoted([*content])}"
        expected = f"a dict with the keys {' and '.join(sorted(_KEYS))}"
        raise FormatError(name, "", received, expected, _FIX)
    images = _images(content["image_data"], side, name)
    return Cache(images, _places(content["class_dict"], len(images), name))


def _images(value: object, side: int, name: str) -> np.ndarray:
    location, expected = "key image_data", f"an array (N, {side}, {side}, 3) of type u1"
    if not isinstance(value, PickledArray):
        raise FormatError(name, location, f"the value is {quoted(type(value))}", expected, _FIX)
    images = value.to_numpy("u1", name=name, location=location)
    if images.shape[1:] != (side, side, 3) or not len(images):
        received = f"the array has the shape {images.shape}"
        raise FormatError(name, location, received, expected, _FIX)
    return images


def _places(value: object, count: int, name: str) -> dict[str, tuple[int, ...]]:
    location = "key class_dict"
    if not isinstance(value, dict) or not all(map(_is_class, value.keys(), value.values())):
        expected = "a dict from names of n and 8 digits to lists of whole numbers"
        raise FormatError(name, location, quoted(value), expected, _FIX)
    places = sorted(place for places_of_class in value.values() for place in places_of_class)
    if places != list(range(count)):
        expected = f"each index from 0 to {count - 1:,} once"
        received = f"the classes have {len(places):,} indices"
        raise FormatError(name, location, received, expected, _FIX)
    return {wnid: tuple(places_of_class) for wnid, places_of_class in value.items()}


def _is_class(key: object, value: object) -> bool:
    is_name = isinstance(key, str) and _WNID.fullmatch(key)
    return bool(is_name) and isinstance(value, list) and all(type(n) is int for n in value)
