"""Functions that check the names of archive members."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from tfds_builders.common.errors import ArchiveError, quoted

_JUNK = {".ds_store", "thumbs.db", "desktop.ini"}
_DRIVE = re.compile(r"[A-Za-z]:")


def is_junk(name: str) -> bool:
    """Returns whether an archive member is a metadata file of an operating system."""
    parts = name.lower().split("/")
    return "__macosx" in parts or parts[-1] in _JUNK or parts[-1].startswith("._")


def safe(name: str, archive: str) -> str:
    """Returns the name of an archive member as a plain relative path.

    Raises:
        ArchiveError: If the name is an absolute path, or if it contains `..`, a drive letter, a
            backslash or a control character.
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    odd = not name.isprintable() or "\\" in name or name.startswith("/") or _DRIVE.match(name)
    if odd or not parts or ".." in parts:
        raise ArchiveError(
            f"{archive} has a member named {quoted(name)}, which is unsafe. Nothing was read. Get "
            "the archive from its official place."
        )
    return "/".join(parts)


def check_distinct(names: Iterable[str], archive: str) -> None:
    """Checks that all names differ in more than upper and lower case.

    Raises:
        ArchiveError: If two names are equal, or if they differ only in upper and lower case. The
            error states both names.
    """
    seen: dict[str, str] = {}
    for name in names:
        first = seen.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
        if first is not name:
            raise ArchiveError(
                f"{archive} holds {quoted(first)} and {quoted(name)}, which are the same name on "
                "some systems. Get the archive from its official place."
            )
