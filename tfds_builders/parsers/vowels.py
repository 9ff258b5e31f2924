"""Parser of the Japanese Vowels data set (Kudo1999).

The parser reads the files `ae.train` and `ae.test` from UCI, and `.ts` files. In the files from
UCI, each line is a frame of 12 numbers separated by spaces. A block of frames is an utterance. Each
block ends with an empty line or with a line of twelve `1.0`, which is never a frame. The file does
not name the speakers. The order of the blocks determines the speaker of each block. In `.ts` files,
each line is an utterance. The line consists of 12 channels and the number of the speaker, separated
by `:`. The values of a channel are separated by `,`.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import check_end, numbers, read_text

CHANNELS = 12
SPEAKERS = 9
SIZES = {"train": (30,) * 9, "test": (31, 35, 88, 44, 29, 24, 40, 50, 29)}
_LONGEST = 1000
_FIX = "The file seems to be incomplete or edited. Unpack the archive again."


@dataclasses.dataclass(frozen=True)
class Utterances:
    """Utterances of a file, in the order of the file.

    Attributes:
        sequences: LPC cepstrum coefficients of each utterance, (T, 12) float32. A new frame begins
            every 6.4 ms.
        speakers: Speaker of each utterance, from 1 to 9. The value is None for files from UCI,
            because these files do not name the speakers.
    """

    sequences: tuple[np.ndarray, ...]
    speakers: tuple[int, ...] | None


def parse(file: BinaryIO, *, name: str) -> Utterances:
    """Reads a file from UCI or a `.ts` file. The function recognizes the format by the first line.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        At least one utterance. Each utterance has at least one frame, and all values are finite.

    Raises:
        FormatError: If a line does not have the expected form. The error names the line. The
            function also refuses padded `.arff` files, because padding changes the distribution of
            the values.
    """
    text = read_text(file, name)
    lines = text.split("\n")
    first = next((line.strip() for line in lines if line.strip() and line[0] != "%"), "")
    if first.lower().startswith("@relation"):
        raise FormatError(
            name, "line 1", "the file is an ARFF file with padded utterances",
            "an unpadded .ts or ae.* file",
            "Padding changes the distribution of the values. Use the other archive.",
        )  # fmt: skip
    part = _parse_ts(lines, name) if first[:1] in ("#", "@") else _parse_blocks(lines, name)
    check_end(text, name, _FIX)
    return part


def parse_sizes(file: BinaryIO, *, name: str) -> tuple[int, ...]:
    """Reads the number of utterances for each of the 9 speakers from `size_ae.train` or
    `size_ae.test`.

    Raises:
        FormatError: If the file does not have nine whole numbers.
    """
    words = read_text(file, name).split()
    if len(words) != SPEAKERS or not all(
        word.isdecimal() and len(word) < 6 and int(word) > 0 for word in words
    ):
        raise FormatError(name, "", quoted(" ".join(words)), "nine whole numbers from 1", _FIX)
    return tuple(int(word) for word in words)


def speakers_by_order(count: int, sizes: Sequence[int], *, name: str) -> tuple[int, ...]:
    """Returns the speaker, from 1 to 9, of each block in a file from UCI.

    Args:
        count: Number of blocks in the file.
        sizes: Number of blocks for each speaker, in the order of the speakers.
        name: Name of the file, for error messages.

    Raises:
        FormatError: If the number of blocks is not the sum of `sizes`.
    """
    if count != sum(sizes):
        raise FormatError(
            name, "", f"the file has {count} utterances",
            f"{sum(sizes)} (9 speakers: {tuple(sizes)})", _FIX,
        )  # fmt: skip
    return tuple(itertools.chain.from_iterable([s] * n for s, n in enumerate(sizes, 1)))


def _parse_blocks(lines: list[str], name: str) -> Utterances:
    filled = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    table = _table([line for _, line in filled], filled[0][0] if filled else 1, name, None)
    closes = (table == 1.0).all(axis=1)  # (lines,)
    blocks: list[list[int]] = [[]]
    previous = 0
    for row, (number, _) in enumerate(filled):
        if blocks[-1] and (closes[row] or number > previous + 1):
            blocks.append([])
        if not closes[row]:
            blocks[-1].append(row)
        previous = number
    sequences = tuple(table[block] for block in blocks if block)
    if not sequences:
        raise FormatError(name, "", "the file has no frames", "blocks of frames", _FIX)
    return Utterances(sequences, None)


def _parse_ts(lines: list[str], name: str) -> Utterances:
    marks = [number for number, line in enumerate(lines, 1) if line.strip().lower() == "@data"]
    if len(marks) != 1:
        raise FormatError(name, "", f"the file has {len(marks)} lines @data", "one line", _FIX)
    if any(line.strip().lower().split() == ["@equallength", "true"] for line in lines[: marks[0]]):
        raise FormatError(
            name, "", "the file states @equalLength true", "@equalLength false",
            "The utterances were padded or cut to one length. Use a file with unequal lengths.",
        )  # fmt: skip
    rows = [
        (number, line)
        for number, line in enumerate(lines[marks[0] :], marks[0] + 1)
        if line.strip()
    ]
    pairs = [_utterance(line.strip(), number, name) for number, line in rows]
    if not pairs:
        expected = "one utterance per line below @data"
        raise FormatError(name, "", "the file has no utterances", expected, _FIX)
    sequences, speakers = zip(*pairs, strict=True)
    return Utterances(tuple(sequences), tuple(speakers))


def _utterance(line: str, number: int, name: str) -> tuple[np.ndarray, int]:
    *channels, speaker = line.split(":")
    if len(channels) != CHANNELS:
        received, expected = f"the line has {len(channels)} channels", f"{CHANNELS} channels"
        raise FormatError(name, f"line {number}", received, expected, _FIX)
    if speaker not in map(str, range(1, SPEAKERS + 1)):
        received, expected = f"the speaker is {quoted(speaker)}", "a number from 1 to 9"
        raise FormatError(name, f"line {number}", received, expected, _FIX)
    lengths = {channel.count(",") + 1 for channel in channels}
    if len(lengths) != 1 or max(lengths) > _LONGEST:
        raise FormatError(
            name,
            f"line {number}",
            f"the channels have {', '.join(map(str, sorted(lengths)[:5]))} values",
            f"the same number of values in each channel, at most {_LONGEST}",
            _FIX,
        )
    table = numbers(channels, lengths.pop(), name=name, first_line=number, separator=",", fix=_FIX)
    return np.ascontiguousarray(table.T), int(speaker)  # (T, 12)


def _table(lines: list[str], first: int, name: str, separator: str | None) -> np.ndarray:
    if not lines:
        expected = "blocks of lines with 12 numbers"
        raise FormatError(name, "", "the file has no frames", expected, _FIX)
    return numbers(lines, CHANNELS, name=name, first_line=first, separator=separator, fix=_FIX)
