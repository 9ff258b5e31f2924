"""Messages that name arguments and functions, which each interface spells in its own way."""

import string
from collections.abc import Mapping

_FORMATTER = string.Formatter()


class Message(str):
    """Message for users that knows which arguments and functions it names.

    A field of the template that is not among `values` is a name: `{far}` names an argument and
    `{calibrate()}` a function. The message itself spells names as Python does, in backticks.
    `spelled` spells them differently, such as `--far` on the command line. Errors, warnings and
    notes take a message in place of text.

    >>> message = Message("{far} is {value}; a rate between 0 and 1 is expected.", value=2)
    >>> message
    '`far` is 2; a rate between 0 and 1 is expected.'
    >>> message.spelled({"far": "--far"})
    '--far is 2; a rate between 0 and 1 is expected.'

    Args:
        template: Text with fields as in `str.format`.
        values: Values of fields. Messages among them are spelled too.

    Attributes:
        names: Names in the template, in order, such as `("far",)`.
    """

    names: tuple[str, ...]

    def __new__(cls, template: str, /, **values):
        message = super().__new__(cls, _filled(template, values, {}))
        message._template, message._values = template, values
        fields = [name for _, name, _, _ in _FORMATTER.parse(template) if name is not None]
        message.names = tuple(name for name in fields if name not in values)
        return message

    def __getnewargs_ex__(self):
        return (self._template,), self._values

    def spelled(self, names: Mapping[str, str]) -> str:
        """Returns the text with names spelled as an interface spells them.

        Args:
            names: Spelling of each name. Names that are missing are spelled as in Python.
        """
        return _filled(self._template, self._values, names)


def spelled(text: object, names: Mapping[str, str]) -> str:
    """Returns the text of a message, an error or a warning with names spelled by an interface.

    Args:
        text: A `Message`, any other text, or an exception whose first argument is one of them.
        names: Spelling of each name, as in `Message.spelled`.
    """
    if isinstance(text, BaseException):
        is_text = len(text.args) == 1 and isinstance(text.args[0], str)
        text = text.args[0] if is_text else str(text)
    return text.spelled(names) if isinstance(text, Message) else str(text)


def _filled(template: str, values: Mapping[str, object], names: Mapping[str, str]) -> str:
    """Returns a template with its values and names filled in."""
    parts = []
    for literal, name, layout, conversion in _FORMATTER.parse(template):
        parts.append(literal)
        if name is None:
            continue
        if name in values:
            value = values[name]
            if isinstance(value, Message):
                value = value.spelled(names)
            parts.append(format(_FORMATTER.convert_field(value, conversion), layout))
        else:
            parts.append(names.get(name, f"`{name.removesuffix('()')}`"))
    return "".join(parts)
