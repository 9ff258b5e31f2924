"""Functions that read color or gray images in the formats JPEG and PNG. Pillow decodes the
images.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import math
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted

if TYPE_CHECKING:
    from PIL import Image

KINDS = ("JPEG", "PNG")
MOST_PIXELS = 40_000_000
_MODES = ("RGB", "L", "1")
_FIX = "The file seems to be incomplete or from another release. Unpack the archive again."


@dataclasses.dataclass(frozen=True)
class DecodedImage:
    """A decoded image.

    Attributes:
        pixels: Pixels of shape (side, side, 3), uint8. A gray image has three equal channels.
        kind: Format of the file, one of `KINDS`.
    """

    pixels: np.ndarray
    kind: str


def parse(file: BinaryIO, *, name: str, side: int) -> DecodedImage:
    """Reads an image.

    Args:
        file: The open file.
        name: Name of the file, for error messages.
        side: Required number of pixels on each side. The function checks the size before it decodes
            the image.

    Returns:
        The image.

    Raises:
        FormatError: If the image is damaged, or if it has an unexpected format, size or color
            model.
    """
    expected = f"a {' or '.join(KINDS)} image of {side} x {side} pixels"
    with _opened(file, name, expected) as image:
        warnings.simplefilter("error")
        if image.size != (side, side) or image.mode not in _MODES:
            width, height = image.size
            received = f"the image has {width} x {height} pixels and the color mode {image.mode}"
            raise FormatError(name, "", received, f"{expected}, RGB or gray", _FIX)
        return DecodedImage(np.array(image.convert("RGB")), image.format)


def resized(file: BinaryIO, *, name: str, side: int) -> np.ndarray:
    """Reads an image of any size and resizes it to a square.

    Each new pixel is the mean of the old pixels in its area. The image is not cropped, so a wide
    image is compressed horizontally. If the image already has the size of the result, its pixels
    are not changed.

    Args:
        file: The open file.
        name: Name of the file, for error messages.
        side: Number of pixels on each side of the result.

    Returns:
        Pixels of shape (side, side, 3), uint8. A gray image has three equal channels.

    Raises:
        FormatError: If the image is damaged, if it has an unexpected format or color model, or if
            it has more than `MOST_PIXELS` pixels.
    """
    from PIL import Image

    expected = f"a {' or '.join(KINDS)} image of at most {MOST_PIXELS:,} pixels"
    with _opened(file, name, expected) as image:
        if math.prod(image.size) > MOST_PIXELS or image.mode not in (*_MODES, "CMYK"):
            width, height = image.size
            received = f"the image has {width} x {height} pixels and the color mode {image.mode}"
            raise FormatError(name, "", received, f"{expected}, RGB, CMYK or gray", _FIX)
        return np.array(image.convert("RGB").resize((side, side), Image.Resampling.BOX))


@contextlib.contextmanager
def _opened(file: BinaryIO, name: str, expected: str) -> Iterator[Image.Image]:
    """Opens an image.

    If Pillow raises an error, the function raises `FormatError`. Warnings are ignored, because
    photos from the web often have damaged metadata of the camera.
    """
    from PIL import Image  # imported here, so that a builder imports in a millisecond

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(file, formats=KINDS) as image:
                yield image
    except FormatError:
        raise
    except Exception as error:  # Pillow's plugins raise a dozen types of errors on damaged bytes
        received = quoted(str(error) or type(error).__name__)
        raise FormatError(name, "", received, expected, _FIX) from error


def png(pixels: np.ndarray) -> io.BytesIO:
    """Encodes an image losslessly as PNG, and returns the bytes."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    file.seek(0)
    return file
