"""Base class for readers of folders and archives. A reader lists the names of files and reads their
bytes.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import hashlib
import io
import mmap
import pathlib
import re
from collections.abc import Iterator
from typing import BinaryIO

from tfds_builders.common import names as member_names
from tfds_builders.common.errors import ArchiveError, quoted
from tfds_builders.common.limits import Limits, bounded, damage, gunzip, spooled, too_big

_NAMES_SHOWN = 5
_PART = 1 << 20  # bytes per read


class Source(abc.ABC):
    """Reader of a folder or an archive. The reader lists the files, and unpacks a compressed tar
    archive, when it is first used.

    Attributes:
        title: Name of the folder or archive, for messages.
        path: The file or folder on disk, or None for an archive within an archive.
        limits: Limits for the size of the contents, such as the number of files.
    """

    def __init__(
        self, title: str, limits: Limits, depth: int = 0, path: pathlib.Path | None = None
    ):
        self.title, self.limits, self.depth, self.path = title, limits, depth, path

    @functools.cached_property
    def _sizes(self) -> dict[str, int]:
        with damage(self.title):
            sizes = self._list()
        member_names.check_distinct(sizes, self.title)
        return sizes

    def __reduce__(self):
        """Pickles only the path and the limits. Another process then opens the archive again, and
        the selection by `only` is lost.
        """
        if self.path is None:
            raise TypeError(
                f"{self.title} is inside another archive, so other processes cannot open it. "
                "Unpack the outer archive."
            )
        from tfds_builders.common.archive import open_source  # it imports this module

        return open_source, (self.path.absolute(), self.limits)

    def close(self) -> None:  # noqa: B027 - a folder has nothing to close
        """Closes the file. A closed source cannot read members."""

    @property
    def names(self) -> tuple[str, ...]:
        """Paths of all files relative to the folder or archive, sorted."""
        return tuple(sorted(self._sizes))

    @property
    def first_names(self) -> str:
        """Text with the first few names, for error messages."""
        names = self.names
        more = f" and {len(names) - _NAMES_SHOWN:,} more" * (len(names) > _NAMES_SHOWN)
        return f"{', '.join(names[:_NAMES_SHOWN]) or 'nothing'}{more}"

    def only(self, pattern: str) -> Source:
        """Keeps only the files whose names match a pattern.

        The checksum then covers only these files. See `index` for the form of patterns.
        """
        self._sizes = {name: size for name, size in self._sizes.items() if _match(pattern, name)}
        return self

    @property
    def sizes(self) -> dict[str, int]:
        """Size of each file in bytes, as stated in the archive."""
        return dict(self._sizes)

    def read(self, name: str) -> bytes:
        """Returns the bytes of one member.

        Raises:
            ArchiveError: If the member is damaged, or if it exceeds the size limit.
        """
        with self._opened(name) as stream:
            return bounded(stream, self.limits.member_bytes, f"{self.title}: {name}")

    def digest(self, name: str) -> str:
        """Returns the SHA-256 checksum of one member.

        Raises:
            ArchiveError: If the member is damaged.
        """
        with self._opened(name) as stream:
            digest = hashlib.sha256()
            while part := stream.read(_PART):
                digest.update(part)
            return digest.hexdigest()

    def open(self, name: str) -> BinaryIO:
        """Returns one member as an open file. If the name ends in `.gz`, the member is
        decompressed.
        """
        content = self.read(name)
        if name.lower().endswith(".gz"):
            content = gunzip(content, f"{self.title}: {name}", self.limits)
        return io.BytesIO(content)

    def view(self, name: str) -> bytes | mmap.mmap:
        """Returns the bytes of one member. A file of an unpacked folder is memory-mapped.

        Raises:
            ArchiveError: If the member is damaged, or if it exceeds the size limit.
        """
        return self.read(name)

    def nested(self, name: str) -> Source:
        """Opens a member that is itself an archive."""
        from tfds_builders.common.archive import open_archive  # it imports this module

        title = f"{self.title}: {name}"
        if self.depth + 1 >= self.limits.nesting:
            raise ArchiveError(
                f"{title} is nested too deeply: an archive may contain archives up to a depth of "
                f"{self.limits.nesting}. Unpack the outer archive."
            )
        with self._opened(name) as stream:
            file = spooled(stream, self.limits.total_bytes, title)
        return open_archive(file, title, self.limits, depth=self.depth + 1)

    @contextlib.contextmanager
    def _opened(self, name: str) -> Iterator[BinaryIO]:
        if name not in self._sizes:
            raise ArchiveError(f"{self.title} holds no {name}.")
        with damage(f"{self.title}: {name}"), self._stream(name) as stream:
            yield stream

    def index(self, pattern: str) -> dict[tuple[str, ...], str]:
        """Returns a dictionary of the members whose names match a pattern. The key of a member is a
        tuple of the texts that the pattern's groups matched.

        A pattern without a slash must match the last part of a name. A pattern with slashes must
        match the whole name, or the name without its first folders: `(\\w+)/walk_(\\d+)\\.csv`
        matches `archive/ann/walk_1.csv`.

        Raises:
            ArchiveError: If two members in different folders have the same key.
        """
        members: dict[tuple[str, ...], str] = {}
        for name in self.names:
            match = _match(pattern, name)
            if match and members.setdefault(match.groups(), name) is not name:
                raise ArchiveError(
                    f"{self.title} holds the same recording twice: {members[match.groups()]} and "
                    f"{name}. Remove one of the two folders."
                )
        return members

    @abc.abstractmethod
    def _list(self) -> dict[str, int]:
        """Returns the name and size of each file. Refuses unsafe files and files that exceed the
        limits.
        """

    @abc.abstractmethod
    def _stream(self, name: str) -> contextlib.AbstractContextManager[BinaryIO]:
        """Opens one member."""

    def _within(self, sizes: Iterator[tuple[str, int]]) -> dict[str, int]:
        files: dict[str, int] = {}
        total = 0
        for name, size in sizes:
            if name in files:
                raise ArchiveError(
                    f"{self.title} holds {quoted(name)} twice. Get the archive again."
                )
            if not member_names.is_junk(name):
                files[name] = size
            total += size
            if size > self.limits.member_bytes and not self._may_nest(name):
                raise too_big(f"{self.title}: {name}", self.limits.member_bytes)
            if total > self.limits.total_bytes or len(files) > self.limits.members:
                raise ArchiveError(
                    f"{self.title} holds more than {self.limits.members:,} files or "
                    f"{self.limits.total_bytes:,} bytes, so it is not the archive of this data set."
                )
        return files

    @staticmethod
    def _may_nest(name: str) -> bool:
        return name.lower().endswith((".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2"))


def _match(pattern: str, name: str) -> re.Match | None:
    if "/" not in pattern:
        return re.fullmatch(pattern, name.rsplit("/", 1)[-1])
    while (match := re.fullmatch(pattern, name)) is None and "/" in name:
        name = name.partition("/")[2]
    return match
