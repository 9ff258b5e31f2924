"""Trials of the EEG set of UCI (data set 121): 64 electrodes, one second, as text (Begleiter1999;
Zhang1995).

Four header lines, then for each electrode a line `# FP1 chan 0` and 256 lines `trial electrode
sample microvolts`. The header speaks of 120 trials and 416 samples; a file holds one trial of 256.
"""

from __future__ import annotations

import dataclasses
import re
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, shown
from tfds_builders.parsers.text import check_end, is_number, read_text

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
_FIX = "The file seems cut or edited; unpack the archive again."


class EmptyTrialError(FormatError):
    """A trial file with a header at most and no samples: the full set has some."""


@dataclasses.dataclass(frozen=True)
class Trial:
    """One second of EEG.

    Attributes:
        subject: The person, `co<n><a|c><number>`; a for alcoholic, c for control.
        trial: Number of the trial as the header states it.
        condition: One of `CONDITIONS`.
        error: Whether the condition is marked `err`.
        channels: Names of the electrodes, in the order of the file.
        sequence: (256, channels) float32, microvolts.
    """

    subject: str
    trial: int
    condition: str
    error: bool
    channels: tuple[str, ...]
    sequence: np.ndarray


def parse(file: BinaryIO, *, name: str) -> Trial:
    """Reads one trial (unzipped).

    Args:
        file: The open file.
        name: Its name, for errors.

    Returns:
        The trial; every value is finite, no electrode stands twice.

    Raises:
        EmptyTrialError: When there are no samples at all.
        FormatError: Naming the line that does not fit.
    """
    text = read_text(file, name)
    if not has_samples(text.encode()):
        raise EmptyTrialError(name, "", "no samples", "256 a channel", "Leave the trial out.")
    check_end(text, name, _FIX)
    lines = text.removesuffix("\n").split("\n")
    (subject,) = _line(lines, 0, _SUBJECT, "`# co2a0000364.rd`", name)
    (count,) = _line(lines, 1, _COUNTS, "`# 120 trials, 64 chans, … post_stim samples`", name)
    condition, error, trial = _line(lines, 3, _CONDITION, "`# S1 obj , trial 0`", name)
    block = SAMPLES + 1
    if len(lines) != _HEADER + int(count) * block or int(count) == 0:
        expected = f"{_HEADER} + {count} x {block} as the header says"
        raise FormatError(name, "", f"{len(lines)} lines", expected, _FIX)
    channels = tuple(
        _line(lines, _HEADER + index * block, _CHANNEL, f"`# NAME chan {index}`", name, index)[0]
        for index in range(int(count))
    )
    if len(set(channels)) != len(channels):
        raise FormatError(name, "", "an electrode twice", "each electrode once", _FIX)
    return Trial(
        subject,
        int(trial),
        condition,
        error is not None,
        channels,
        _samples(lines, channels, trial, name),
    )


def has_samples(content: bytes) -> bool:
    """Whether an unzipped trial file has anything beside its `#` lines."""
    return re.search(rb"^[^#\s]", content, re.MULTILINE) is not None


def _line(lines, at, pattern, expected, name, index=None):
    match = pattern.fullmatch(lines[at].strip()) if at < len(lines) else None
    if match is None or (index is not None and match[2] != str(index)):
        found = shown(lines[at]) if at < len(lines) else "the end of the file"
        raise FormatError(name, f"line {at + 1}", found, expected, _FIX)
    return match.groups()


def _samples(lines: list[str], channels: tuple[str, ...], trial: str, name: str) -> np.ndarray:
    block = SAMPLES + 1
    sequence = np.empty((SAMPLES, len(channels)), np.float32)
    for column, channel in enumerate(channels):
        start = _HEADER + column * block + 1
        words = " ".join(lines[start : start + SAMPLES]).split()
        values = _values(words, trial, channel)
        if values is None:
            raise _first_error(lines, start, trial, channel, name)
        sequence[:, column] = values
    return sequence


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
                name, location, shown(line), f"`{trial} {channel} {sample} microvolts`", _FIX
            )
    return FormatError(
        name, f"line {start + 1}", "lines out of order", "256 samples in order", _FIX
    )
