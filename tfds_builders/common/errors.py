"""Exceptions that builders raise for archives and for files in archives."""

from __future__ import annotations

SHOWN = 80


class ArchiveError(ValueError):
    """Error for an archive or folder that a builder cannot use. The message tells users what to
    do.
    """


class MissingArchiveError(ArchiveError):
    """Error for a manual folder that contains no archive that the builder accepts."""


class PipelineError(RuntimeError):
    """Error of Apache Beam that does not come from the archive."""


class FormatError(ValueError):
    """Error for a file whose content violates the file format.

    Args:
        name: Name of the file in its archive.
        location: Place of the error in the file, such as `"line 41"`, `"key Age"` or `"byte 12"`.
            The location is `""` if the error concerns the whole file.
        found: Fault, as a clause such as `"the file has no samples"`, or the invalid data. Pass
            data from the file through `quoted`.
        expected: Description of the expected value.
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
    """Returns data as a text for an error message: one line of at most 80 characters, with control
    characters escaped.
    """
    try:
        text = ascii(data.decode("latin-1") if isinstance(data, bytes) else data)
    except RecursionError:
        return f"a {type(data).__name__} with deep nesting"
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
