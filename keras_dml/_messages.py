"""Provides error messages that store the names of arguments and functions. Python and the command
line spell the names of arguments and functions differently.
"""

import string
from collections.abc import Iterable, Mapping
from typing import Any, Self


def printable(text: object) -> str:
    r"""Replaces characters that a terminal would not print, such as control characters in an
    untrusted file, by escape sequences.

    >>> printable("a\x1b[31mred")
    'a\\x1b[31mred'
    """
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in str(text))


class Message(str):
    """Text for users that stores the names of the arguments and functions that it mentions.

    A field of the template is a name if `values` contains no value for the field. For example,
    `{far}` names an argument, `{replace=True}` names an argument with its value, and
    `{calibrate()}` names a function. In the text of the message, names are spelled as in Python, in
    backticks. `spelled` returns the text with the spelling of another interface, such as `--far`
    for the command line. Errors, warnings and notes accept a `Message` instead of a string.

    >>> message = Message("{far} is {value}; a rate between 0 and 1 is expected.", value=2)
    >>> message
    '`far` is 2; a rate between 0 and 1 is expected.'
    >>> message.spelled({"far": "--far"})
    '--far is 2; a rate between 0 and 1 is expected.'

    Args:
        template: Text of the message, with fields in braces as in `str.format`.
        values: Values that replace fields of the template. If a value is a `Message` or an error,
            its names are also stored in the new message.
    """

    _parts: tuple[str, ...]  # `_Name`s, and texts between them

    def __new__(cls, template: str, /, **values: Any) -> Self:
        parts = []
        for text, field, layout, conversion in string.Formatter().parse(template):
            parts.append(text)
            if field is None:
                continue
            if field not in values:
                parts.append(_Name(field))
            elif conversion or layout:
                value = string.Formatter().convert_field(values[field], conversion)
                parts.append(format(value, layout))
            else:
                parts += _parts_of(values[field])
        return _from_parts(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_parts, (self._parts,)

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the message, in the order of the text, such as `("far", "calibrate()")`."""
        return tuple(str(part) for part in self._parts if isinstance(part, _Name))

    def spelled(self, names: Mapping[str, str]) -> str:
        """Returns the text of the message, with all names spelled as in an interface.

        Args:
            names: Dictionary from names to their spelling. Names that the dictionary does not
                contain are spelled as in Python.
        """
        return "".join(
            names.get(part, part.in_python) if isinstance(part, _Name) else part
            for part in self._parts
        )

    def replace(self, old: str, new: str, count: int = -1, /) -> "Message":
        """Replaces a text as `str.replace` does. The names that the message stores do not
        change."""
        parts = []
        for part in self._parts:
            if not isinstance(part, _Name):
                occurrences = part.count(old)
                part = part.replace(old, new, count)
                count = count if count < 0 else max(0, count - occurrences)
            parts.append(part)
        return _from_parts(parts)

    def removeprefix(self, prefix: str, /) -> "Message":
        """Removes a text at the beginning of the message, in the same way as `str.removeprefix`."""
        first, *rest = self._parts or ("",)
        return _from_parts(
            [first if isinstance(first, _Name) else first.removeprefix(prefix), *rest]
        )


class _Name(str):
    """Name of an argument or a function, as one part of a message.

    Attributes:
        in_python: Text of the name in Python.
    """

    in_python: str

    def __new__(cls, name, in_python=None):
        part = super().__new__(cls, name)
        part.in_python = f"`{name.removesuffix('()')}`" if in_python is None else in_python
        return part


def name(argument: str, in_python: str | None = None) -> Message:
    """Returns a message that consists only of the name of an argument or a function.

    >>> Message("{argument} is missing", argument=name("far"))
    '`far` is missing'

    Args:
        argument: Name of the argument or function, such as `"far"`.
        in_python: Text that Python prints for the name. By default, Python prints the name in
            backticks. A message can also store another text, such as scores, as a name, so that
            some interfaces can omit the text.
    """
    return _from_parts([_Name(argument, in_python)])


def join(separator: str, texts: Iterable[object]) -> Message:
    """Joins texts, messages and errors in the same way as `str.join`. The result still stores all
    names that the messages and errors store.

    Args:
        separator: Text that is inserted between two of the joined texts.
        texts: Texts, messages and errors to join.
    """
    parts = []
    for text in texts:
        parts += [separator, *_parts_of(text)] if parts else ["", *_parts_of(text)]
    return _from_parts(parts)


def text_of(error: BaseException) -> str:
    """Returns the message of an error. The result is a `Message` if the error was raised with a
    `Message`.

    The text equals `str(error)`, but without the quotes that `KeyError` adds.

    Args:
        error: Error or warning whose message is returned.
    """
    is_text = len(error.args) == 1 and isinstance(error.args[0], str)
    return error.args[0] if is_text else str(error)


def spelled(text: object, names: Mapping[str, str]) -> str:
    """Returns the text of a message, an error or a warning, and spells the names as an interface
    does.

    Args:
        text: `Message` or string, or an error or a warning that was raised with a `Message` or a
            string.
        names: Dictionary from each name to the spelling that the interface uses.
    """
    text = text_of(text) if isinstance(text, BaseException) else text
    return text.spelled(names) if isinstance(text, Message) else str(text)


def _parts_of(value):
    value = text_of(value) if isinstance(value, BaseException) else value
    return value._parts if isinstance(value, Message) else (str(value),)


def _from_parts(parts):
    """Returns a message that consists of the given parts. Neighboring texts are joined."""
    joined = []
    for part in parts:
        if joined and not isinstance(part, _Name) and not isinstance(joined[-1], _Name):
            joined[-1] += part
        else:
            joined.append(part)
    texts = [part.in_python if isinstance(part, _Name) else part for part in joined]
    message = str.__new__(Message, "".join(texts))
    message._parts = tuple(joined)
    return message
