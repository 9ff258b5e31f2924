"""What a value of a card may be; the docstring of a check ends the sentence "must be"."""

import re


def number(value):
    """a number"""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def above_zero(value):
    """a number above 0"""
    return number(value) and not value <= 0


def number_or_null(value):
    """a number or null"""
    return value is None or number(value)


def whole(value):
    """a whole number, at least 0"""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def whole_or_null(value):
    """a whole number or null"""
    return value is None or whole(value)


def text(value):
    """a text that is not empty"""
    return isinstance(value, str) and bool(value.strip())


def text_or_null(value):
    """a text that is not empty, or null"""
    return value is None or text(value)


def interval(value):
    """an interval [low, high]"""
    return isinstance(value, list) and len(value) == 2 and all(map(number, value))


def repeats(value):
    """one of: days, sessions, blocks, others"""
    return value in ("days", "sessions", "blocks", "others")


def kind_of_baseline(value):
    """one of: no network, instead, same model, other probes"""
    return value in ("no network", "instead", "same model", "other probes")


def file_name(value):
    """the name of a file in the card's folder"""
    return text(value) and not set("/\\") & set(value) and value not in (".", "..")


def digest(value):
    """a SHA-256 in 64 hexadecimal digits"""
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def boolean(value):
    """true or false"""
    return isinstance(value, bool)


def numbers_or_null(value):
    """a list of numbers, at least 0, or null"""
    return value is None or (
        isinstance(value, list) and all(number(one) and one >= 0 for one in value)
    )


def mapping(value):
    """an object"""
    return isinstance(value, dict)
