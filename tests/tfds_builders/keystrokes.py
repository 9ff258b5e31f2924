"""Functions that make small files in the format of `aalto_keystrokes` for tests."""

import numpy as np

from tfds_builders.parsers.keystrokes import COLUMNS

NOON = 1471953600000  # 2016-08-23 12:00:00 UTC in ms
WORDS = ("Where", "is", "the", "red", "bike", "of", "my", "old", "aunt", "today?", "No!", "Yes.")


def sentence(number, words=3):
    """Returns a sentence of some words. The numbers below 12 to the power of `words` give different
    sentences.
    """
    return " ".join(WORDS[(number // 12**place + 4 * place) % 12] for place in range(words))


def row(press, release, *, letter="e", code=69, key=7, **cells):
    """Returns a line of a file as a dict from the columns to their cells."""
    defaults = {"PARTICIPANT_ID": 1002, "TEST_SECTION_ID": 10319}
    defaults |= {"SENTENCE": "Yes, yes.", "USER_INPUT": "Yes, yes", "KEYSTROKE_ID": key}
    times = {"PRESS_TIME": press, "RELEASE_TIME": release}
    return defaults | times | {"LETTER": letter, "KEYCODE": code} | cells


def text_of(rows, encoding="utf-8"):
    """Returns the bytes of a file with these lines."""
    lines = [COLUMNS, *(each.values() for each in rows)]
    return "".join("\t".join(map(str, cells)) + "\n" for cells in lines).encode(encoding)


def rows_of(text, start_ms, draw, **cells):
    """Returns the lines of a participant who types a text without errors."""
    press = start_ms + np.cumsum(draw.integers(60, 400, len(text)))
    release = press + draw.integers(40, 200, len(text))
    order = np.argsort(np.argsort(release))  # ids follow the releases
    codes = [32 if letter == " " else ord(letter.upper()) for letter in text]
    return [
        row(*times, letter="" if code % 10 == 4 else letter, code=code, key=key, **cells)
        for *times, letter, code, key in zip(press, release, text, codes, order, strict=True)
    ]


def participant_file(participant=1002, sentences=range(4), words=3):
    """Returns the file of a participant who types one sentence a minute."""
    draw = np.random.default_rng(participant)
    rows = []
    for place, number in enumerate(sentences):
        text = sentence(number, words)
        cells = {"PARTICIPANT_ID": participant, "TEST_SECTION_ID": 100 * participant + place}
        cells |= {"SENTENCE": text, "USER_INPUT": text}
        rows += rows_of(text, NOON + 60_000 * place, draw, **cells)
    return text_of(rows)


def keystroke_files(people=range(101, 111), sentences=4, folder="Keystrokes/files/"):
    """Returns the names and bytes of the files of a small archive. Each participant begins with
    another sentence, and two participants share most of their sentences with each other.
    """
    return {
        f"{folder}{person}_keystrokes.txt": participant_file(
            person, range(at // 2, at // 2 + sentences)
        )
        for at, person in enumerate(people)
    }
