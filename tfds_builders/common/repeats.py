"""Detection of items with equal content."""

from __future__ import annotations

import hashlib
import logging

import numpy as np

from tfds_builders.common.errors import ArchiveError

log = logging.getLogger("tfds_builders")


class Repeats:
    """Contents of the items of a data set, to find and report items with equal content.

    Args:
        title: Name of the archive, for messages.
        things: Plural noun for the items in messages, such as `"trials"`.
        fate: What the builder does with repeated items, for the warning: `"kept"` or
            `"left out"`.

    Attributes:
        same_as: Mapping from each repeated item to the first item with the same content. The
            mapping grows while items are added.
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
            owner: Person or class of the item. Items of two owners must not have equal content.

        Raises:
            ArchiveError: If an item of another owner has the same content. The error names the two
                items.
        """
        self.add_digest(digest(content), item, owner)

    def add_digest(self, content: str, item: str, owner: str) -> None:
        """Adds an item by the digest of its content. See `add`."""
        first, whose = self._first.setdefault(content, (item, owner))
        if whose != owner:
            raise ArchiveError(
                f"{self.title}: {first} ({whose}) and {item} ({owner}) hold the same, so one "
                f"of the two {self.things} is a copy in the wrong place. Get the archive again, or "
                "remove both files."
            )
        if first != item:
            self.same_as[item] = first
            self._unlogged.append(item)

    def report(self) -> None:
        """Logs the number of repeats since the last call and the first of these repeats."""
        if self._unlogged:
            first = self._unlogged[0]
            log.warning(
                "%s: repeats among the %s: %d (%s). The first is %s, which is %s.",
                self.title, self.things, len(self._unlogged), self.fate, first, self.same_as[first],
            )  # fmt: skip
            self._unlogged.clear()


class Contents:
    """Contents of items that another process read. The main process adds them to its `Repeats`.

    Attributes:
        added: Digest, item and owner of each item, in order.
    """

    def __init__(self):
        self.added: list[tuple[str, str, str]] = []

    def add(self, content: bytes | np.ndarray, item: str, owner: str) -> None:
        """Stores the digest of an item, which the main process passes to `Repeats.add_digest`."""
        self.added.append((digest(content), item, owner))


def digest(content: bytes | np.ndarray) -> str:
    """Returns the SHA-256 of bytes or of the values of an array."""
    data = content if isinstance(content, bytes) else np.ascontiguousarray(content)
    return hashlib.sha256(data).hexdigest()
