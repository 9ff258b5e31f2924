"""Names of archive members: which are refused, which are passed over."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from tfds_builders.common.errors import ArchiveError, shown

_JUNK = {".ds_store", "thumbs.db", "desktop.ini"}
_DRIVE = re.compile(r"[A-Za-z]:")


def is_junk(name: str) -> bool:
    """Whether a member is litter of an operating system."""
    parts = name.lower().split("/")
    return "__macosx" in parts or parts[-1] in _JUNK or parts[-1].startswith("._")


def safe(name: str, archive: str) -> str:
    """Returns a member's name as a plain relative one, or refuses it.

    Raises:
        ArchiveError: On an absolute name, `..`, a drive letter, a backslash, a control character.
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    odd = not name.isprintable() or "\\" in name or name.startswith("/") or _DRIVE.match(name)
    if odd or not parts or ".." in parts:
        raise ArchiveError(
            f"{archive} has a member named {shown(name)}, which is unsafe. Nothing was read; get "
            "the archive from its official place."
        )
    return "/".join(parts)


def check_distinct(names: Iterable[str], archive: str) -> None:
    """Refuses two members whose names are equal, or equal but for case.

    Raises:
        ArchiveError: Naming both.
    """
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
        if other is not name:
            raise ArchiveError(
                f"{archive} holds {shown(other)} and {shown(name)}: one name twice. Get the "
                "archive from its official place."
            )
