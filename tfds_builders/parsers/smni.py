"""Parser of the EEG data set of UCI (data set 121; Begleiter1999; Zhang1995).

Each text file has one trial, which is one second of EEG from 64 electrodes. The file begins with
four header lines. Each electrode has a line such as `# FP1 chan 0`, then 256 lines `trial electrode
sample microvolts`. The header states 120 trials and 416 samples, but the file has only one trial of
256 samples.
"""

from __future__ import annotations

import dataclasses
import re
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import check_end, is_number, read_ascii, read_columns

SAMPLES = 256
RATE_HZ = 256
CONDITIONS = ("S1 obj", "S2 match", "S2 nomatch")
CHANNELS = tuple(
    (
        "FP1 FP2 F7 F8 AF1 AF2 FZ F4 F3 FC6 FC5 FC2 FC1 T8 T7 CZ C3 C4 CP5 CP6 CP1 CP2 P3 P4 PZ "
        "P8 P7 PO2 PO1 O2 O1 X AF7 AF8 F5 F6 FT7 FT8 FPZ FC4 FC3 C6 C5 F2 F1 TP8 TP7 AFZ CP3 CP4 "
        "P5 P6 C1 C2 PO7 PO8 FCZ POZ OZ P2 P1 CPZ nd Y"
    ).split()
)
_SUBJECT = re.compile(r"# (co\d[ac]\d{7})\.rd")
_COUNTS = re.compile(
    r"# \d{1,6} trials, (\d{1,6}) chans, \d{1,6} samples \d{1,6} post_stim samples"
)
_CONDITION = re.compile(r"# (S1 obj|S2 match|S2 nomatch)( err)? ?, trial (\d{1,6})")
_CHANNEL = re.compile(r"# (\w+) chan (\d+)")
_HEADER = 4
_ORDER = [str(sample) for sample in range(SAMPLES)]
_ODD = re.compile(r"[^\d.eE+\- ]")
_FIX = "The file seems to be incomplete or edited. Unpack the archive again."


class EmptyTrialError(FormatError):
    """Error for a trial file without samples. The full data set contains some of these empty
    files.
    """


@dataclasses.dataclass(frozen=True)
class Trial:
    """One trial, which is one second of EEG.

    Attributes:
        subject: Id of the person, `co<n><a|c><number>`. The letter `a` means alcoholic, and `c`
            means control.
        trial: Number that the header states for the trial.
        condition: One of `CONDITIONS`.
        error: Whether the header marks the condition with `err`.
        channels: Names of the electrodes, in the order of the file.
        sequence: EEG in microvolts, (256, channels) float32.
    """

    subject: str
    trial: int
    condition: str
    error: bool
    channels: tuple[str, ...]
    sequence: np.ndarray


def parse(file: BinaryIO, *, name: str) -> Trial:
    """Reads one trial.

    Args:
        file: The open, decompressed file.
        name: Name of the file, for error messages.

    Returns:
        The trial. Every value is finite, and each electrode occurs once.

    Raises:
        EmptyTrialError: If the file has no samples.
        FormatError: If a line does not have the expected form. The error names the line.
    """
    content = read_ascii(file, name)
    if not has_samples(content):
        received = "the trial has no samples"
        raise EmptyTrialError(name, "", received, "256 per channel", "Leave the trial out.")
    check_end(content, name, _FIX)
    content = content.removesuffix(b"\n")
    head = content.split(b"\n", _HEADER)[:_HEADER]
    lines = [line.decode() for line in head]
    (subject,) = _line(lines, 0, _SUBJECT, "`# co2a0000364.rd`", name)
    (count,) = _line(lines, 1, _COUNTS, "`# 120 trials, 64 chans, … post_stim samples`", name)
    condition, error, trial = _line(lines, 3, _CONDITION, "`# S1 obj , trial 0`", name)
    count, length = int(count), content.count(b"\n") + 1
    if length != _HEADER + count * (SAMPLES + 1) or count == 0:
        expected = f"{_HEADER} + {count} x {SAMPLES + 1}, as the header states"
        raise FormatError(name, "", f"the file has {length} lines", expected, _FIX)
    channels, sequence = _by_columns(content, count, trial) or _by_lines(
        content.decode().split("\n"), count, trial, name
    )
    return Trial(subject, int(trial), condition, error is not None, channels, sequence)


def has_samples(content: bytes) -> bool:
    """Returns whether a decompressed trial file has a line that does not begin with `#`."""
    return re.search(rb"^[^#\s]", content, re.MULTILINE) is not None


def _line(lines, at, pattern, expected, name, index=None):
    match = pattern.fullmatch(lines[at].strip()) if at < len(lines) else None
    if match is None or (index is not None and match[2] != str(index)):
        received = quoted(lines[at]) if at < len(lines) else "the file ends early"
        raise FormatError(name, f"line {at + 1}", received, expected, _FIX)
    return match.groups()


def _by_columns(
    content: bytes, count: int, trial: str
) -> tuple[tuple[str, ...], np.ndarray] | None:
    """Returns the electrodes and their values.

    Returns None if a line does not have exactly the form of the official files. This function is
    several times as fast as `_by_lines`.
    """
    channels, tables = [], []
    for index, block in enumerate(content.split(b"#")[1 + _HEADER :]):
        title, _, table = block.partition(b"\n")
        words = title.decode().split()
        if words[1:] != ["chan", str(index)]:
            return None
        if block.count(f"\n{trial} {words[0]} ".encode()) != SAMPLES:
            return None
        channels.append(words[0])
        tables.append(table)
    names, wanted = ["trial", "channel", "sample", "value"], {"sample": np.uint8, "value": float}
    columns = read_columns(b"".join(tables), names, wanted, separator=" ")
    if len(set(channels)) != count or columns is None:
        return None
    in_order = columns["sample"].reshape(count, SAMPLES) == np.arange(SAMPLES)
    with np.errstate(over="ignore"):
        values = columns["value"].reshape(count, SAMPLES).T.astype(np.float32)
    return (tuple(channels), values) if in_order.all() and np.isfinite(values).all() else None


def _by_lines(
    lines: list[str], count: int, trial: str, name: str
) -> tuple[tuple[str, ...], np.ndarray]:
    """Returns the electrodes and their values. Words may be separated by any number of spaces.

    Raises:
        FormatError: If a line does not have the expected form. The error names the line.
    """
    block = SAMPLES + 1
    starts = range(_HEADER, _HEADER + count * block, block)
    channels = tuple(
        _line(lines, start, _CHANNEL, f"`# NAME chan {index}`", name, index)[0]
        for index, start in enumerate(starts)
    )
    if len(set(channels)) != len(channels):
        raise FormatError(name, "", "an electrode occurs twice", "each electrode once", _FIX)
    sequence = np.empty((SAMPLES, count), np.float32)
    for column, (channel, start) in enumerate(zip(channels, starts, strict=True)):
        words = " ".join(lines[start + 1 : start + block]).split()
        values = _values(words, trial, channel)
        if values is None:
            raise _first_error(lines, start + 1, trial, channel, name)
        sequence[:, column] = values
    return channels, sequence


def _values(words: list[str], trial: str, channel: str) -> np.ndarray | None:
    expected = len(words) == 4 * SAMPLES and words[2::4] == _ORDER
    if not expected or set(words[0::4]) != {trial} or set(words[1::4]) != {channel}:
        return None
    if _ODD.search(" ".join(words[3::4])):
        return None
    try:
        with np.errstate(over="ignore"):
            values = np.array(words[3::4], np.float64).astype(np.float32)
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def _first_error(lines: list[str], start: int, trial: str, channel: str, name: str) -> FormatError:
    for sample, line in enumerate(lines[start : start + SAMPLES]):
        words = line.split()
        fits = len(words) == 4 and words[:3] == [trial, channel, str(sample)]
        if not fits or not is_number(words[3]):
            location = f"line {start + sample + 1}"
            return FormatError(
                name, location, quoted(line), f"`{trial} {channel} {sample} microvolts`", _FIX
            )
    return FormatError(
        name, f"line {start + 1}", "the samples are not in order", "256 samples in order", _FIX
    )
