"""Reader of RIFF/WAVE audio with 16 bit PCM samples.

The module `wave` of Python's standard library reads the files. The module skips all chunks except
the samples, so the samples may begin at any byte. Files of RAVDESS have the additional chunks
`FLLR`, `LIST`, `bext` and `_PMX`.
"""

from __future__ import annotations

import dataclasses
import wave
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted

_BYTES = 2  # bytes per sample
_FIX = "The file seems to be incomplete or converted. Get it again from the official archive."


@dataclasses.dataclass(frozen=True)
class Sound:
    """An audio recording.

    Attributes:
        samples: Samples, shape (time, channels), int16. The array is not empty.
        rate_hz: Samples per second.
    """

    samples: np.ndarray
    rate_hz: int


def parse(file: BinaryIO, *, name: str) -> Sound:
    """Reads a recording.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        The recording with all samples that the header states.

    Raises:
        FormatError: If the file is not a WAVE file with 16 bit PCM samples, if it is incomplete, or
            if it has no samples.
    """
    try:
        with wave.open(file) as sound:
            channels, width, rate, frames = sound.getparams()[:4]
            data = sound.readframes(frames) if width == _BYTES else b""
    except (wave.Error, EOFError, ValueError, RuntimeError) as error:
        # if a chunk begins after the end of the file, the RuntimeError has no text
        received = quoted(str(error) or "an incomplete file")
        raise FormatError(name, "", received, "a RIFF/WAVE file with 16 bit PCM", _FIX) from error
    if width != _BYTES:
        raise FormatError(name, "", f"the samples have {8 * width} bits", "16 bit PCM", _FIX)
    if rate == 0 or frames == 0 or len(data) != frames * channels * _BYTES:
        received = f"the file has {len(data):,} bytes of samples at {rate:,} Hz"
        stated = frames * channels * _BYTES
        expected = f"{stated:,} bytes, as the header states, and at least one sample"
        raise FormatError(name, "", received, expected, _FIX)
    return Sound(np.frombuffer(data, "<i2").astype(np.int16).reshape(frames, channels), rate)
