"""Classes that find items with equal content."""

from __future__ import annotations

import hashlib
import logging

import numpy as np

from tfds_builders.common.errors import ArchiveError

log = logging.getLogger("tfds_builders")


class Repeats:
    """Object that finds and reports items with equal content in a data set.

    Args:
        title: Name of the archive, for messages.
        things: Noun in the plural for the items in messages, such as `"trials"`.
        fate: Word in the warning that says what the builder does with repeated items: `"kept"` or
            `"left out"`.

    Attributes:
        same_as: Mapping from each repeated item to the first item with the same content. If an item
            repeats an earlier item, `add` adds an entry.
    """

    def __init__(self, title: str, things: str, fate: str):
        self.title, self.things, self.fate = title, things, fate
        self.same_as: dict[str, str] = {}
        self._first: dict[str, tuple[str, str]] = {}
        self._unlogged: list[str] = []

    def add(self, content: bytes | np.ndarray, item: str, owner: str) -> None:
        """Adds an item.

        Args:
            content: Content of the item.
            item: Name of the item.
            owner: Person or class to which the item belongs. Items of different owners must not
                have equal content.

        Raises:
            ArchiveError: If an item of another owner has the same content. The error names both
                items.
        """
        self.add_digest(digest(content), item, owner)

    def add_digest(self, content: str, item: str, owner: str) -> None:
        """Adds an item by the digest of its content. See `add`."""
        first, whose = self._first.setdefault(content, (item, owner))
        if whose != owner:
            raise ArchiveError(
                f"{self.title}: {first} ({whose}) and {item} ({owner}) have the same content, so "
                f"one of the two {self.things} is a copy in the wrong place. Get the archive "
                "again, or remove both files."
            )
        if first != item:
            self.same_as[item] = first
            self._unlogged.append(item)

    def report(self) -> None:
        """Logs how many repeated items were found since the last call, and the name of the first
        repeated item.
        """
        if self._unlogged:
            first = self._unlogged[0]
            log.warning(
                "%s: repeated %s: %d (%s). The first is %s, which is the same as %s.",
                self.title, self.things, len(self._unlogged), self.fate, first, self.same_as[first],
            )  # fmt: skip
            self._unlogged.clear()


class Contents:
    """Contents of the items that a worker process has read. The main process adds these contents to
    its own `Repeats` object.

    Attributes:
        added: Tuple of digest, item and owner for each item, in the order of the calls.
    """

    def __init__(self):
        self.added: list[tuple[str, str, str]] = []

    def add(self, content: bytes | np.ndarray, item: str, owner: str) -> None:
        """Stores the digest of an item. The main process later passes the digest to
        `Repeats.add_digest`.
        """
        self.added.append((digest(content), item, owner))


def digest(content: bytes | np.ndarray) -> str:
    """Returns the SHA-256 checksum of bytes or of an array's values."""
    data = content if isinstance(content, bytes) else np.ascontiguousarray(content)
    return hashlib.sha256(data).hexdigest()
