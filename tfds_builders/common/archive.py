"""Archives and unpacked folders as one thing: names, and bytes by name.

TFDS's own extractor drops absolute and upward-pointing members in silence, reads whole members
into memory and has no limits. Here such members are refused with a text, and members, bytes, ratio
and nesting are capped. A compressed tar is unpacked once into an anonymous temporary file, so that
every form gives its members in any order.
"""

from __future__ import annotations

import abc
import bz2
import contextlib
import functools
import gzip
import io
import lzma
import mmap
import os
import pathlib
import re
import stat
import tarfile
import weakref
import zipfile
from collections.abc import Iterator
from typing import BinaryIO

from tfds_builders.common import names as member_names
from tfds_builders.common.errors import ArchiveError, shown
from tfds_builders.common.limits import (
    FREE_BYTES,
    Limits,
    bomb,
    bounded,
    damage,
    gunzip,
    not_a_file,
    spooled,
    too_big,
)

_HEAD = 512
_NAMES_SHOWN = 5


class Source(abc.ABC):
    """A folder or an archive; listed, and a compressed tar unpacked, at the first use.

    Attributes:
        title: Its name, for messages.
        path: The file or folder on disk; None for an archive within an archive.
        limits: What it may hold.
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
        """Another process opens the path anew, and lists it whole; see `only`."""
        if self.path is None:
            raise TypeError(
                f"{self.title} lies in an archive, and so cannot be opened by other processes. "
                "Unpack the outer one."
            )
        return open_source, (self.path.absolute(), self.limits)

    def close(self) -> None:  # noqa: B027 - a folder has nothing to close
        """Lets go of the file; a closed source cannot be read."""

    @property
    def names(self) -> tuple[str, ...]:
        """Relative names of all files, in the order of the alphabet."""
        return tuple(sorted(self._sizes))

    @property
    def listed(self) -> str:
        """Its first names, for messages."""
        names = self.names
        more = f" and {len(names) - _NAMES_SHOWN:,} more" * (len(names) > _NAMES_SHOWN)
        return f"{', '.join(names[:_NAMES_SHOWN]) or 'nothing'}{more}"

    def only(self, pattern: str) -> Source:
        """Forgets all files but those whose name, without folders, fits a pattern: what lies beside
        them then changes no fingerprint."""
        self._sizes = {
            name: size
            for name, size in self._sizes.items()
            if re.fullmatch(pattern, name.rsplit("/", 1)[-1])
        }
        return self

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of each file, as the archive's directory states them."""
        return dict(self._sizes)

    def read(self, name: str) -> bytes:
        """Returns the bytes of one member.

        Raises:
            ArchiveError: When the member is damaged or above the limit.
        """
        with self._opened(name) as stream:
            return bounded(stream, self.limits.member_bytes, f"{self.title}: {name}")

    def open(self, name: str) -> BinaryIO:
        """Returns one member as a file; a member that ends in `.gz` is unzipped."""
        content = self.read(name)
        if name.lower().endswith(".gz"):
            content = gunzip(content, f"{self.title}: {name}", self.limits)
        return io.BytesIO(content)

    def view(self, name: str) -> bytes | mmap.mmap:
        """Returns the bytes of one member; an unpacked file is mapped, so that parts of it can be
        read without the whole.

        Raises:
            ArchiveError: When the member is damaged or above the limit.
        """
        return self.read(name)

    def nested(self, name: str) -> Source:
        """Opens a member that is an archive itself."""
        title = f"{self.title}: {name}"
        if self.depth + 1 >= self.limits.nesting:
            raise ArchiveError(
                f"{title}: more than {self.limits.nesting} archives within each other."
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
        """Returns the members whose last part of the name fits a pattern, by the pattern's groups.

        Raises:
            ArchiveError: When two members in different folders have the same key.
        """
        found: dict[tuple[str, ...], str] = {}
        for name in self.names:
            match = re.fullmatch(pattern, name.rsplit("/", 1)[-1])
            if match and found.setdefault(match.groups(), name) is not name:
                raise ArchiveError(
                    f"{self.title} holds the same recording twice: {found[match.groups()]} and "
                    f"{name}. Keep one of the two folders."
                )
        return found

    @abc.abstractmethod
    def _list(self) -> dict[str, int]:
        """Returns name and size of each file; refuses what is unsafe or above the limits."""

    @abc.abstractmethod
    def _stream(self, name: str) -> contextlib.AbstractContextManager[BinaryIO]:
        """Opens one member."""

    def _within(self, sizes: Iterator[tuple[str, int]]) -> dict[str, int]:
        kept: dict[str, int] = {}
        total = 0
        for name, size in sizes:
            if name in kept:
                raise ArchiveError(
                    f"{self.title} holds {shown(name)} twice. Get the archive again."
                )
            if not member_names.is_junk(name):
                kept[name] = size
            total += size
            if size > self.limits.member_bytes and not self._may_nest(name):
                raise too_big(f"{self.title}: {name}", self.limits.member_bytes)
            if total > self.limits.total_bytes or len(kept) > self.limits.members:
                raise ArchiveError(
                    f"{self.title} holds more than {self.limits.members:,} files or "
                    f"{self.limits.total_bytes:,} bytes: this is not the archive of this data set."
                )
        return kept

    @staticmethod
    def _may_nest(name: str) -> bool:
        return name.lower().endswith((".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2"))


class _Folder(Source):
    def _list(self):
        return self._within(self._walk())

    def _walk(self):
        for folder, folders, files in os.walk(self.path):
            folders.sort()
            for file in files:
                path = pathlib.Path(folder, file)
                if path.is_file():
                    yield path.relative_to(self.path).as_posix(), path.stat().st_size

    def _stream(self, name):
        return (self.path / name).open("rb")

    def view(self, name):
        if not self._sizes.get(name):  # missing, or empty, which cannot be mapped
            return self.read(name)
        with self._opened(name) as stream:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


class _Packed(Source):
    """Base of zip and tar archives: the open file, closed when the object is collected."""

    def __init__(self, file: BinaryIO, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._hold(file)

    def _hold(self, file: BinaryIO) -> None:
        self._file = file
        self._closer = weakref.finalize(self, file.close)

    def close(self):
        self._closer()


class _Zip(_Packed):
    def _list(self):
        self._archive = zipfile.ZipFile(self._file)
        self._infos: dict[str, zipfile.ZipInfo] = {}
        return self._within(self._walk())

    def _walk(self):
        for info in self._archive.infolist():
            if info.orig_filename.endswith("/"):
                continue
            name = member_names.safe(info.orig_filename, self.title)
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG):
                raise not_a_file(self.title, name)
            if info.file_size > max(FREE_BYTES, self.limits.ratio * info.compress_size):
                raise bomb(f"{self.title}: {name}", self.limits.ratio)
            yield name, info.file_size
            self._infos[name] = info

    def _stream(self, name):
        return self._archive.open(self._infos[name])


class _Tar(_Packed):
    def _list(self):
        self._unpack()
        self._archive = tarfile.open(fileobj=self._file, mode="r:")
        self._infos: dict[str, tarfile.TarInfo] = {}
        sizes = self._within(self._walk())
        # tarfile ends in silence where an archive is cut between members
        self._file.seek(self._archive.offset)
        if self._file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError("the end mark is missing")
        return sizes

    def _unpack(self):
        reader = _decompressor(self._file.read(_HEAD))
        packed = self._file.seek(0, io.SEEK_END)
        self._file.seek(0)
        if reader is None:
            return
        cap = min(self.limits.total_bytes, max(FREE_BYTES, self.limits.ratio * packed))
        with self._file, reader(self._file) as stream:
            self._hold(spooled(stream, cap, self.title))

    def _walk(self):
        for info in self._archive:
            if info.isdir():
                continue
            name = member_names.safe(info.name, self.title)
            if not info.isreg() or info.issparse():
                raise not_a_file(self.title, name)
            yield name, info.size
            self._infos[name] = info

    def _stream(self, name):
        return self._archive.extractfile(self._infos[name])


def open_source(path: pathlib.Path, limits: Limits) -> Source:
    """Opens a folder, a zip, or a tar (plain, gz, xz, bz2), known by its first bytes.

    Raises:
        ArchiveError: When it is none of these, damaged, unsafe or above the limits.
    """
    if path.is_dir():
        return _Folder(path.resolve().name, limits, path=path)
    return open_archive(path.open("rb"), path.name, limits, path=path)


def open_archive(file: BinaryIO, title: str, limits: Limits, depth: int = 0, path=None) -> Source:
    """Opens an archive given as a file; see `open_source`."""
    head = file.read(_HEAD)
    file.seek(0)
    if head.startswith(b"PK"):
        return _Zip(file, title, limits, depth, path)
    if _decompressor(head) is not None or head[257:262] == b"ustar":
        return _Tar(file, title, limits, depth, path)
    file.close()
    raise ArchiveError(
        f"{title} is neither a zip nor a tar archive (it begins with {shown(head[:16])}). The "
        "download may be a web page or cut; get it again."
    )


def _decompressor(head: bytes):
    if head.startswith(b"\x1f\x8b"):
        return lambda file: gzip.GzipFile(fileobj=file)
    if head.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMAFile
    return bz2.BZ2File if head.startswith(b"BZh") else None
