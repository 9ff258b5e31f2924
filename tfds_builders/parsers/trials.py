"""Parser of the lists of verification trials for VoxCeleb1 (Nagrani2017; Chung2018).

Each line is a trial: `1 id10270/x6uYqmx31kE/00001.wav id10270/8jEAjG6SegY/00008.wav`. The line
begins with 1 if both recordings are from the same speaker, and with 0 otherwise. Older copies of
the lists contain names of people instead of ids, such as `Eartha_Kitt/x6uYqmx31kE_0000001.wav`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import BinaryIO

from tfds_builders.common.errors import FormatError, quoted
from tfds_builders.parsers.text import read_text

_LINE = re.compile(r"([01]) (\S{1,200}) (\S{1,200})")
_VIDEO = r"[\w\-]{11}"
_UTTERANCE = re.compile(rf"id\d{{5}}/{_VIDEO}/\d{{5}}\.wav", re.ASCII)
_OLD = re.compile(rf"([^/]+)/({_VIDEO})_00(\d{{5}})\.wav", re.ASCII)
_FIX = "The list seems to be incomplete or edited. Get it again."


@dataclasses.dataclass(frozen=True)
class Trials:
    """List of trials.

    Attributes:
        is_same: For each trial, whether both utterances are from the same speaker. The list
            contains at least one trial.
        first: First utterance of each trial, such as `id10270/x6uYqmx31kE/00001`.
        second: Second utterance of each trial.
    """

    is_same: tuple[bool, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]


def speaker_of(utterance: str) -> str:
    """Returns the id of the speaker of an utterance."""
    return utterance.partition("/")[0]


def parse(file: BinaryIO, *, name: str, ids: Mapping[str, str]) -> Trials:
    """Reads a list.

    Args:
        file: The open file.
        name: Name of the file, for error messages.
        ids: Mapping from the name of each person to the id of the person. `ids` is used only for
            older copies of the lists.

    Returns:
        The trials, in the order of the file.

    Raises:
        FormatError: If a line does not have the expected form, if it has a name that is not in
            `ids`, or if its label is wrong. A wrong label is 0 for two recordings of one speaker,
            or 1 for recordings of two speakers. The error names the line.
    """
    are_same, first, second = [], [], []
    for number, line in enumerate(read_text(file, name).splitlines(), 1):
        match = _LINE.fullmatch(line.rstrip())
        pair = [_utterance(word, ids) for word in match.groups()[1:]] if match else [None]
        if None in pair:
            expected = "`0|1 speaker/video/number.wav speaker/video/number.wav`"
            if match and any(_OLD.fullmatch(word) for word in match.groups()[1:]):
                expected = (
                    "names of people in vox1_meta.csv, which must be in the same folder as the list"
                )
            raise FormatError(name, f"line {number}", quoted(line), expected, _FIX)
        is_same = speaker_of(pair[0]) == speaker_of(pair[1])
        if is_same != (match[1] == "1"):
            expected = f"{int(is_same)} for these speakers"
            raise FormatError(name, f"line {number}", quoted(line), expected, _FIX)
        are_same.append(is_same)
        first.append(pair[0])
        second.append(pair[1])
    if not are_same:
        raise FormatError(name, "", "the file has no lines", "one trial per line", _FIX)
    return Trials(tuple(are_same), tuple(first), tuple(second))


def _utterance(word: str, ids: Mapping[str, str]) -> str | None:
    """Returns the name of an utterance without the extension, or None if the word is not the name
    of an utterance.
    """
    if _UTTERANCE.fullmatch(word):
        return word.removesuffix(".wav")
    match = _OLD.fullmatch(word)
    return f"{ids[match[1]]}/{match[2]}/{match[3]}" if match and match[1] in ids else None
