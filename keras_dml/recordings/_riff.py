"""The samples in a WAVE file: integers, floats, mu-law and A-law.

`scipy.io.wavfile` does not read mu-law and A-law, nor sound whose length the header does not say.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

PCM, FLOAT, A_LAW, MU_LAW, EXTENSIBLE = 1, 3, 6, 7, 0xFFFE  # format tags of the header
# Sizes that programs write when they cannot go back to the header: 0, and the largest of 32 bits,
# with a sign or without, minus a header.
ENDLESS = (range(1), range(0x7FFFFE00, 0x80000001), range(0xFFFFFE00, 0x100000000))
UNKNOWN_LENGTH = (
    "The header does not say how long the sound is. It was read to the end of the file."
)


class Sound(NamedTuple):
    """Samples of a WAVE file.

    Attributes:
        rate_hz: Samples per second.
        values: Shape `(time, channels)`, float32, or float64 of such floats; integers have full
            scale 1.
        is_float: Whether the file holds floats.
        notes: Sentences that say what was assumed.
    """

    rate_hz: int
    values: np.ndarray
    is_float: bool
    notes: tuple[str, ...]


def read(data):
    """Reads the bytes of a WAVE file: RIFF, RIFX (big-endian) or RF64.

    Raises:
        ValueError: If they are not a complete WAVE file, or compressed; the message says why.
    """
    kind = data[:4]
    if kind not in (b"RIFF", b"RIFX", b"RF64") or data[8:12] != b"WAVE":
        raise ValueError("it does not begin as one")
    order = ">" if kind == b"RIFX" else "<"
    form, long_size, start = None, None, 12
    while True:
        if start + 8 > len(data):
            raise ValueError("it has no samples, or is cut before them")
        name, size = data[start : start + 4], struct.unpack_from(f"{order}I", data, start + 4)[0]
        start += 8
        if name == b"data":
            break
        if start + size > len(data):
            raise ValueError(f"its chunk {name.decode('latin-1')!r} is cut")
        if name == b"fmt ":
            form = data[start : start + size]
        if name == b"ds64" and size >= 16:
            long_size = struct.unpack_from("<Q", data, start + 8)[0]
        start += size + size % 2
    if form is None or len(form) < 16:
        raise ValueError("it does not say how samples are stored")
    tag, channels, rate, _, block, bits = struct.unpack_from(f"{order}HHIIHH", form)
    if tag == EXTENSIBLE and len(form) >= 26:
        tag = struct.unpack_from(f"{order}H", form, 24)[0]
    if kind == b"RF64" and size == 0xFFFFFFFF and long_size is not None:
        size = long_size
    rest = len(data) - start
    notes = ()
    if (
        any(size in sizes for sizes in ENDLESS)
        and size != rest
        and not _are_chunks(data, start + size, order)
    ):
        size = rest - rest % max(block, 1)
        notes = (UNKNOWN_LENGTH,)
    if size > rest:
        raise ValueError(f"its header says {size} bytes of sound, and the file has {rest}")
    if not channels or not block or block % channels or not 0 < rate < 2**31:
        raise ValueError(f"its header says {channels} channels, {block} bytes each and {rate} Hz")
    if not 0 < bits <= 8 * block // channels:
        raise ValueError(f"its header says {bits} bits in {block // channels} bytes")
    if size % block:
        raise ValueError(f"its {size} bytes of sound are not whole steps of {block} bytes")
    values = _decoded(memoryview(data)[start : start + size], tag, block // channels, bits, order)
    return Sound(rate, values.reshape(-1, channels), tag == FLOAT, notes)


def _are_chunks(data, start, order):
    """Returns whether the bytes from a start to the end are chunks, which follow the samples."""
    if start >= len(data):
        return start == len(data)
    while start + 8 <= len(data):
        name, size = data[start : start + 4], struct.unpack_from(f"{order}I", data, start + 4)[0]
        if not all(32 <= letter < 127 for letter in name):
            return False
        start += 8 + size + size % 2
    return start in (len(data), len(data) + 1)


def _decoded(raw, tag, width, bits, order):
    if tag == FLOAT and width in (4, 8):
        return np.frombuffer(raw, f"{order}f{width}").astype(f"f{width}")
    if tag == PCM and width == 1:  # up to 8 bits are unsigned
        return _CODES_OF_PCM[np.frombuffer(raw, np.uint8)]
    if tag == PCM and width in (2, 4, 8):
        return _scaled(np.frombuffer(raw, f"{order}i{width}"), 8 * width - 1)
    if tag == PCM and width == 3:
        wide = np.zeros((len(raw) // 3, 4), np.uint8)  # three bytes above one of zeros
        wide[:, slice(1, 4) if order == "<" else slice(3)] = np.frombuffer(raw, np.uint8).reshape(
            -1, 3
        )
        return _scaled(wide.view(f"{order}i4")[:, 0], 31)
    if tag == MU_LAW and width == 1:
        return _CODES_OF_MU_LAW[np.frombuffer(raw, np.uint8)]
    if tag == A_LAW and width == 1:
        return _CODES_OF_A_LAW[np.frombuffer(raw, np.uint8)]
    raise ValueError(f"its samples are of format {tag} with {bits} bits, which is not read")


def _scaled(numbers, bits):
    """Integers as float32 of full scale 1."""
    values = numbers.astype(np.float32)
    values *= np.float32(2.0**-bits)
    return values


def _of_mu_law(codes):
    """Mu-law of ITU-T G.711, table 2: sign, three bits of exponent, four of mantissa."""
    exponent, mantissa = (codes >> 4) & 7, (codes & 15).astype(np.int64)
    size = (((mantissa << 3) + 132) << exponent) - 132
    return np.where(codes & 128, -size, size) / 2.0**15


def _of_a_law(codes):
    """A-law of ITU-T G.711, table 1: sign, three bits of exponent, four of mantissa."""
    exponent, mantissa = ((codes >> 4) & 7).astype(np.int64), (codes & 15).astype(np.int64)
    size = (mantissa << 4) + 8
    size = np.where(exponent == 0, size, (size + 256) << np.maximum(exponent - 1, 0))
    return np.where(codes & 128, size, -size) / 2.0**15


# The sample that each byte stands for, float32: what takes no more memory than the samples.
_CODES = np.arange(256, dtype=np.uint8)
_CODES_OF_PCM = ((_CODES - 128.0) / 128).astype(np.float32)
_CODES_OF_MU_LAW = _of_mu_law(~_CODES).astype(np.float32)
_CODES_OF_A_LAW = _of_a_law(_CODES ^ 0x55).astype(np.float32)
