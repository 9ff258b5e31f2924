"""Parser of PhysioNet's WFDB records in format 16 (Goldberger2000). A record has a header file and
a file of 16-bit samples.

The header file `NAME.hea` begins with the line `name signals rate samples` for the record. For each
signal, a line `file 16 gain(baseline)/unit resolution zero first checksum block description`
follows. Comments such as `#Age:75.0` are at the end. The file of samples has the interleaved
samples of all signals in little-endian order. The value of a sample, in the unit of its signal, is
(sample - baseline) / gain. The sample -32768 means a missing value.
"""

from __future__ import annotations

import dataclasses
import mmap
import re
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import read_text

MISSING = -32768
DEFAULT_GAIN = 200.0  # gain of a signal whose header states 0
_GAINS = (1e-6, 1e9)
_REAL = r"\d{1,12}(?:\.\d{0,20})?(?:[eE][+-]?\d{1,2})?"
_RECORD = re.compile(rf"(\S+)\s+(\d{{1,3}})\s+({_REAL})\S*\s+(\d{{1,12}})(?:\s.*)?")
_SIGNAL = re.compile(
    rf"(\S+)\s+16\s+({_REAL})(?:\((-?\d{{1,9}})\))?(?:/(\S+))?\s+\d{{1,3}}\s+(-?\d{{1,9}})"
    r"\s+-?\d{1,9}\s+-?\d{1,9}\s+\d{1,9}\s+(\S.*)"
)
_FIX = "The file seems to be incomplete or edited. Get it again from PhysioNet."


@dataclasses.dataclass(frozen=True)
class Signal:
    """One signal of a record, with its name, its unit, and the numbers that convert samples into
    values.
    """

    name: str
    unit: str
    gain: float
    baseline: int


@dataclasses.dataclass(frozen=True)
class Header:
    """Header of a record.

    Attributes:
        record: Name of the record.
        rate_hz: Samples per second.
        samples: Number of samples of each signal.
        file: Name of the file with the samples, which is in the same folder as the header.
        signals: The signals, in the order of the interleaved samples.
        notes: Keys and values of the comments that have the form `#key:value`. The keys are in
            lower case.
    """

    record: str
    rate_hz: float
    samples: int
    file: str
    signals: tuple[Signal, ...]
    notes: dict[str, str]


def parse_header(file: BinaryIO, *, name: str) -> Header:
    """Reads `NAME.hea`.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        Header with at least one signal, at least one sample and positive gains.

    Raises:
        FormatError: If a line does not have the expected form, if the record has several segments
            or several files, or if its format is not 16. The error names the line.
    """
    lines = [(n, line.strip()) for n, line in enumerate(read_text(file, name).split("\n"), 1)]
    notes = dict(_note(line) for _, line in lines if line.startswith("#") and ":" in line)
    lines = [(n, line) for n, line in lines if line and not line.startswith("#")]
    number, first = lines[0] if lines else (1, "")
    match = _RECORD.fullmatch(first)
    if match is None or "/" in match[1] or not (int(match[2]) and float(match[3]) * int(match[4])):
        expected = "`name signals rate samples` of one segment, with numbers above 0"
        raise FormatError(name, f"line {number}", quoted(first), expected, _FIX)
    if len(lines) - 1 != int(match[2]):
        received = f"the header has {len(lines) - 1} lines of signals"
        raise FormatError(name, "", received, f"{match[2]}, as line {number} states", _FIX)
    files, signals = zip(*(_signal(*line, name) for line in lines[1:]), strict=True)
    if len(set(files)) > 1:
        received = f"the header names {len(set(files))} files of samples"
        raise FormatError(name, "", received, "one file", _FIX)
    return Header(match[1], float(match[3]), int(match[4]), files[0], signals, notes)


def _note(line: str) -> tuple[str, str]:
    key, _, value = line.lstrip("#").partition(":")
    return key.strip().lower(), value.strip()


def _signal(number: int, line: str, name: str) -> tuple[str, Signal]:
    match = _SIGNAL.fullmatch(line)
    if match is None:
        expected = "`file 16 gain(baseline)/unit` and six more fields"
        raise FormatError(name, f"line {number}", quoted(line), expected, _FIX)
    file, gain, baseline, unit, zero, title = match.groups()
    gain = float(gain) or DEFAULT_GAIN
    if not _GAINS[0] <= gain <= _GAINS[1]:
        expected = f"a gain of {_GAINS[0]:g} to {_GAINS[1]:g}"
        raise FormatError(name, f"line {number}", f"the gain is {gain:g}", expected, _FIX)
    return file, Signal(title, unit or "mV", gain, int(zero if baseline is None else baseline))


def check_bytes(size: int, header: Header, *, name: str) -> None:
    """Checks that a file of samples has the size that its header states.

    Args:
        size: Number of bytes of the file.
        header: Header of the record.
        name: Name of the file, for error messages.

    Raises:
        FormatError: If `size` is not the size that follows from the header. The error states both
            sizes.
    """
    expected = 2 * header.samples * len(header.signals)
    if size != expected:
        raise FormatError(
            name, "", f"the file has {size:,} bytes", f"{expected:,}, as its header states",
            "The download seems to be incomplete. Get the file again from PhysioNet.",
        )  # fmt: skip


def samples(data: bytes | mmap.mmap, header: Header, *, name: str) -> np.ndarray:
    """Returns the samples of a record without copying them.

    Args:
        data: Bytes or memory map of the file with the samples.
        header: Header of the record.
        name: Name of the file, for error messages.

    Returns:
        Read-only samples of shape (samples, signals), int16.

    Raises:
        FormatError: If the file is shorter or longer than the header states.
    """
    check_bytes(len(data), header, name=name)
    return np.frombuffer(data, "<i2").reshape(header.samples, len(header.signals))


def physical(digital: np.ndarray, header: Header) -> np.ndarray:
    """Converts samples into values in the units of their signals. Missing samples become NaN.

    Args:
        digital: Samples of shape (T, signals), int16.
        header: Header of the record.

    Returns:
        Values of shape (T, signals), float32.
    """
    baseline = np.array([signal.baseline for signal in header.signals], np.int64)
    gain = np.array([signal.gain for signal in header.signals])
    values = (digital - baseline) / gain
    return np.where(digital == MISSING, np.nan, values).astype(np.float32)
