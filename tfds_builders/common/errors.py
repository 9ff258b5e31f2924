"""Errors of data downloaded by hand: of the archive, and of the files in it."""

from __future__ import annotations

SHOWN = 80


class ArchiveError(ValueError):
    """An archive or its folder is not what the builder needs; the text says what to do."""


class MissingArchiveError(ArchiveError):
    """Nothing that the builder accepts lies in the manual folder."""


class PipelineError(RuntimeError):
    """Apache Beam has failed, by no fault of the archive."""


class FormatError(ValueError):
    """A file does not follow its format.

    Args:
        name: Name of the file, as it stands in its archive.
        location: `"line 41"`, `"key Age"`, `"byte 12"`, or `""` for the file as a whole.
        found: Text found there. Data in it is cut to 80 characters, control characters escaped.
        expected: Text that the format has there.
        fix: Advice for the user.
    """

    def __init__(self, name: str, location: str, found: str, expected: str, fix: str):
        self.name, self.location, self.found, self.expected, self.fix = (
            name,
            location,
            found,
            expected,
            fix,
        )
        where = f"{name}, {location}" if location else name
        super().__init__(f"{where}: {found}, expected {expected}. {fix}")

    def __reduce__(self):
        return type(self), (self.name, self.location, self.found, self.expected, self.fix)


def shown(data: object) -> str:
    """Returns data for an error message: one line, escaped, at most 80 characters."""
    try:
        text = ascii(data.decode("latin-1") if isinstance(data, bytes) else data)
    except RecursionError:
        return f"a {type(data).__name__} of many within each other"
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
