"""Errors of archives and of the files in them."""

from __future__ import annotations

SHOWN = 80


class ArchiveError(ValueError):
    """Error for an unsuitable archive or folder; the message says what to do."""


class MissingArchiveError(ArchiveError):
    """Error for a manual folder without any archive that the builder accepts."""


class PipelineError(RuntimeError):
    """Error of Apache Beam that the archive did not cause."""


class FormatError(ValueError):
    """Error for a file that does not follow its format.

    Args:
        name: Name of the file in its archive.
        location: `"line 41"`, `"key Age"`, `"byte 12"`, or `""` for the file as a whole.
        found: The received text. Data in it is cut to 80 characters, with control characters
            escaped.
        expected: The expected text.
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


def quoted(data: object) -> str:
    """Returns data as one escaped line of at most 80 characters, for an error message."""
    try:
        text = ascii(data.decode("latin-1") if isinstance(data, bytes) else data)
    except RecursionError:
        return f"a {type(data).__name__} with deep nesting"
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
