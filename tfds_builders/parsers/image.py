"""Images as JPEG or PNG, decoded by Pillow: colors or shades of gray, of one known size."""

from __future__ import annotations

import dataclasses
import warnings
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, shown

KINDS = ("JPEG", "PNG")
_MODES = ("RGB", "L", "1")
_FIX = "The file seems cut or of another release; unpack the archive again."


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
        name: Its name, for errors.
        side: Pixels that it must have on each side; looked at before anything is decoded.

    Returns:
        The image.

    Raises:
        FormatError: When it is damaged or of another kind, size or color model.
    """
    from PIL import Image  # here, so that a builder imports in a millisecond

    expected = f"a {' or '.join(KINDS)} image of {side} x {side} pixels"
    try:
        with warnings.catch_warnings(), Image.open(file, formats=KINDS) as image:
            warnings.simplefilter("error")
            if image.size != (side, side) or image.mode not in _MODES:
                width, height = image.size
                found = f"{width} x {height} pixels, {image.mode}"
                raise FormatError(name, "", found, f"{expected}, RGB or gray", _FIX)
            return DecodedImage(np.array(image.convert("RGB")), image.format)
    except FormatError:
        raise
    except Exception as error:  # Pillow's plugins raise a dozen kinds on damaged bytes
        raise FormatError(
            name, "", shown(str(error) or type(error).__name__), expected, _FIX
        ) from error
