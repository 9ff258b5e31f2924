"""Images as JPEG or PNG, decoded by Pillow: colors or shades of gray."""

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
_FIX = "The file seems to be cut, or it belongs to another release. Unpack the archive again."


@dataclasses.dataclass(frozen=True)
class DecodedImage:
    """One image.

    Attributes:
        pixels: (side, side, 3) uint8; shades of gray stand three times.
        kind: One of `KINDS`.
    """

    pixels: np.ndarray
    kind: str


def parse(file: BinaryIO, *, name: str, side: int) -> DecodedImage:
    """Reads an image.

    Args:
        file: The open file.
        name: Name of the file, for error messages.
        side: Pixels that it must have on each side; looked at before anything is decoded.

    Returns:
        The image.

    Raises:
        FormatError: If it is damaged or of another kind, size or color model.
    """
    expected = f"a {' or '.join(KINDS)} image of {side} x {side} pixels"
    with _opened(file, name, expected) as image:
        warnings.simplefilter("error")
        if image.size != (side, side) or image.mode not in _MODES:
            width, height = image.size
            received = f"{width} x {height} pixels, {image.mode}"
            raise FormatError(name, "", received, f"{expected}, RGB or gray", _FIX)
        return DecodedImage(np.array(image.convert("RGB")), image.format)


def resized(file: BinaryIO, *, name: str, side: int) -> np.ndarray:
    """Reads an image of any size and gives it another: each pixel is the mean of its area.

    The image is not cut, so a wide one becomes narrow. One of the wanted size keeps its pixels.

    Args:
        file: The open file.
        name: Name of the file, for error messages.
        side: Pixels on each side of the result.

    Returns:
        (side, side, 3) uint8; shades of gray stand three times.

    Raises:
        FormatError: If it is damaged, of another kind or color model, or has more than
            `MOST_PIXELS`.
    """
    from PIL import Image

    expected = f"a {' or '.join(KINDS)} image of at most {MOST_PIXELS:,} pixels"
    with _opened(file, name, expected) as image:
        if math.prod(image.size) > MOST_PIXELS or image.mode not in (*_MODES, "CMYK"):
            width, height = image.size
            received = f"{width} x {height} pixels, {image.mode}"
            raise FormatError(name, "", received, f"{expected}, RGB, CMYK or gray", _FIX)
        return np.array(image.convert("RGB").resize((side, side), Image.Resampling.BOX))


@contextlib.contextmanager
def _opened(file: BinaryIO, name: str, expected: str) -> Iterator[Image.Image]:
    """Opens an image; raises `FormatError` for any error of Pillow.

    Warnings are ignored, because photos of the web often have damaged metadata of the camera.
    """
    from PIL import Image  # here, so that a builder imports in a millisecond

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(file, formats=KINDS) as image:
                yield image
    except FormatError:
        raise
    except Exception as error:  # Pillow's plugins raise a dozen kinds on damaged bytes
        received = quoted(str(error) or type(error).__name__)
        raise FormatError(name, "", received, expected, _FIX) from error


def png(pixels: np.ndarray) -> io.BytesIO:
    """Returns an image as a PNG file, which keeps every pixel."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    file.seek(0)
    return file
