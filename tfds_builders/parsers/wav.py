"""Reader of RIFF/WAVE audio with 16 bit PCM samples.

The standard library reads the files. It skips the other chunks, which surround the samples in files
of RAVDESS (`FLLR`, `LIST`, `bext` and `_PMX`), so the samples may begin at any byte.
"""

from __future__ import annotations

import dataclasses
import wave
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted

_BYTES = 2  # bytes per sample
_FIX = "The file seems to be cut or converted. Get it again from the official archive."


@dataclasses.dataclass(frozen=True)
class Sound:
    """An audio recording.

    Attributes:
        samples: At least one sample of at least one channel, (time, channels) int16.
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
        FormatError: If the file is not a WAVE file, is not 16 bit PCM, is cut, or has no samples.
    """
    try:
        with wave.open(file) as sound:
            channels, width, rate, frames = sound.getparams()[:4]
            data = sound.readframes(frames) if width == _BYTES else b""
    except (wave.Error, EOFError, ValueError, RuntimeError) as error:
        # a chunk that begins beyond the end raises a RuntimeError without a text
        received = quoted(str(error) or "a cut file")
        raise FormatError(name, "", received, "a RIFF/WAVE file with 16 bit PCM", _FIX) from error
    if width != _BYTES:
        raise FormatError(name, "", f"{8 * width} bit samples", "16 bit PCM", _FIX)
    if rate == 0 or frames == 0 or len(data) != frames * channels * _BYTES:
        received = f"{len(data):,} bytes of samples at {rate:,} Hz"
        expected = f"{frames * channels * _BYTES:,} as the header says, at least one sample"
        raise FormatError(name, "", received, expected, _FIX)
    return Sound(np.frombuffer(data, "<i2").astype(np.int16).reshape(frames, channels), rate)
