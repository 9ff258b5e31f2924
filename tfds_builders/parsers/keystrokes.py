"""Parser for files of a typing test (Dhakal2018). Each file has the key presses of one participant.

The header names nine columns, which are separated by tabs. Each line below the header is one key
press. Lines of a sentence follow each other, and begin with the same four cells: the ids of the
participant and of the sentence, the sentence that was shown, and the text that was typed. Then
follow the id of the key press, the Unix times of press and release in milliseconds, the letter, and
the key code of JavaScript. The parser ignores the id and the letter, because ids do not follow the
order of time, and letters are often empty.

The text is in UTF-8. If a file is not valid UTF-8, the parser reads it as Latin-1.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import check_end

COLUMNS = (
    "PARTICIPANT_ID",
    "TEST_SECTION_ID",
    "SENTENCE",
    "USER_INPUT",
    "KEYSTROKE_ID",
    "PRESS_TIME",
    "RELEASE_TIME",
    "LETTER",
    "KEYCODE",
)
UNKNOWN_MS = -1  # release time that the file does not state
_SHARED, _OF_KEY = COLUMNS[:4], COLUMNS[4:]  # equal in all lines of a sentence, or not
_HEADER = "\t".join(COLUMNS).encode()
_BOM = b"\xef\xbb\xbf"
_ID = re.compile(rb"\d{1,18}")
# A few ids and release times are in scientific notation. Such times have lost their milliseconds.
_ROW = rb"\d[\d.e+]{0,17}+\t\d{13}\t(?:\d{13}|\d(?:\.\d{1,12}+)?e\+12)\t[^\t\n]*+\t\d{1,5}\n"
_ROWS = re.compile(rb"(?:" + _ROW + rb")++")
_SECTION = re.compile(rb"((?:[^\t\n]*+\t){4})[^\n]*+\n(?:\1[^\n]*+\n)*+")
_FIX = "The line is damaged or its columns are shifted. Repair the line, or remove the file."


@dataclasses.dataclass(frozen=True)
class Sentence:
    """Key presses with which a participant typed one sentence, in the order of their press times.

    Attributes:
        section: Id of the typed sentence. Ids differ between all sentences and participants.
        text: The sentence that was shown.
        typed: The text that was typed.
        press_ms: Unix times of the presses in milliseconds, (T,) int64. They never decrease.
        release_ms: Unix times of the releases in milliseconds, (T,) int64. The time is
            `UNKNOWN_MS` if the file states the time in scientific notation. In some lines of the
            source, the release is before the press.
        keys: Key codes of JavaScript, (T,) int32.
    """

    section: int
    text: str
    typed: str
    press_ms: np.ndarray
    release_ms: np.ndarray
    keys: np.ndarray


@dataclasses.dataclass(frozen=True)
class Participant:
    """A participant with the sentences that the participant typed, in the order of the file.

    Attributes:
        subject: Id of the participant.
        sentences: The sentences, at least one.
    """

    subject: str
    sentences: tuple[Sentence, ...]


class _Section(NamedTuple):
    """Lines of one sentence: the cells that all lines share, and the other cells of the lines."""

    shared: tuple[bytes, ...]
    table: bytes


def parse(file: BinaryIO, *, name: str) -> Participant:
    """Reads `<participant>_keystrokes.txt`.

    Args:
        file: The open file.
        name: Name of the file, for error messages.

    Returns:
        Participant with at least one sentence. Each sentence has at least one key press.

    Raises:
        FormatError: If a line does not have the expected columns, if the participant changes, if
            lines of a sentence do not follow each other or do not have the same texts, or if the
            press times of a sentence decrease. The error names the line.
    """
    content = file.read().removeprefix(_BOM).replace(b"\r\n", b"\n")
    header, _, body = content.partition(b"\n")
    if header != _HEADER:
        raise FormatError(name, "line 1", quoted(header), "the header PARTICIPANT_ID …", _FIX)
    if not body:
        expected = "at least one line below the header"
        raise FormatError(name, "", "the file has only a header", expected, _FIX)
    if not body.endswith(b"\n"):
        check_end(content.decode("latin-1"), name, _FIX)
    sections = list(_sections(body, name))
    keys, press_ms, release_ms = _numbers(b"".join(table for _, table in sections), name)
    ends = np.cumsum([table.count(b"\n") for _, table in sections])
    _check_order(press_ms, ends, name)
    encoding = _encoding(content)
    sentences = []
    for (shared, _), start, end in zip(sections, [0, *ends], ends, strict=False):
        _, number, text, typed = (cell.decode(encoding) for cell in shared)
        part = slice(start, end)
        sentences.append(
            Sentence(int(number), text, typed, press_ms[part], release_ms[part], keys[part])
        )
    return Participant(sections[0].shared[0].decode(), tuple(sentences))


def _sections(body: bytes, name: str) -> Iterator[_Section]:
    """Yields the lines of each sentence, without the cells that all lines of the sentence share.
    The other cells have a third of the bytes, so the checks of these cells take less time.
    """
    participant, seen, line, start = body.partition(b"\t")[0], set(), 2, 0
    while start < len(body):
        cells = body[start : body.index(b"\n", start)].split(b"\t")
        if len(cells) != len(COLUMNS):
            received = f"the line has {len(cells)} cells"
            raise FormatError(name, f"line {line}", received, f"{len(COLUMNS)} cells", _FIX)
        shared = tuple(cells[: len(_SHARED)])
        if shared[0] != participant or not _ID.fullmatch(participant):
            expected = f"a number, the same participant ({quoted(participant)}) in all lines"
            raise FormatError(name, f"line {line}", quoted(shared[0]), expected, _FIX)
        if shared[1] in seen or not _ID.fullmatch(shared[1]):
            expected = "another number for each sentence, whose lines have the same texts"
            raise FormatError(name, f"line {line}", quoted(shared[1]), expected, _FIX)
        seen.add(shared[1])
        lines = _SECTION.match(body, start)
        cut = lines[1]
        yield _Section(shared, lines[0].replace(b"\n" + cut, b"\n")[len(cut) :])
        line += lines[0].count(b"\n")
        start = lines.end()


def _numbers(table: bytes, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the key codes, the press times and the release times of all lines."""
    if not _ROWS.fullmatch(table):
        rows = [row + b"\n" for row in table[:-1].split(b"\n")]
        at = next(at for at, row in enumerate(rows) if not _ROWS.fullmatch(row))
        expected = "a number, two times in milliseconds, a letter and a key code"
        raise FormatError(name, f"line {at + 2}", quoted(rows[at][:-1]), expected, _FIX)
    # Arrow starts a thread per file. For files of 100 KB, `int` is faster.
    cells = table[:-1].replace(b"\n", b"\t").split(b"\t")
    _, presses, releases, _, keys = (cells[at :: len(_OF_KEY)] for at in range(len(_OF_KEY)))
    release_ms = [int(cell) if cell.isdigit() else UNKNOWN_MS for cell in releases]
    return (
        np.array(list(map(int, keys)), np.int32),
        np.array(list(map(int, presses)), np.int64),
        np.array(release_ms, np.int64),
    )


def _check_order(press_ms: np.ndarray, ends: np.ndarray, name: str) -> None:
    """Refuses press times that decrease within a sentence. A sentence may precede the previous
    sentence of the file.
    """
    backward = np.setdiff1d(np.flatnonzero(np.diff(press_ms) < 0) + 1, ends)
    if backward.size:
        row = int(backward[0])
        step = press_ms[row - 1] - press_ms[row]
        received = f"the press is {step} ms before the press of the previous line"
        expected = "press times that do not decrease within a sentence"
        raise FormatError(name, f"line {row + 2}", received, expected, _FIX)


def _encoding(content: bytes) -> str:
    try:
        content.decode()
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"
