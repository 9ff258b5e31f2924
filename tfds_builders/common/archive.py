"""Readers of archives and unpacked folders. All readers have the same interface, which lists the
names of members and reads the bytes of a member.

TFDS's extractor silently drops absolute names and names with `..`, reads whole members into memory
and has no limits. This module raises an error for absolute names and names with `..`. The module
also limits the number and size of members, the compression ratio, and the depth of archives inside
archives. A compressed tar is unpacked once into an unnamed temporary file, so that its members can
be read in any order.
"""

from __future__ import annotations

import abc
import bz2
import contextlib
import functools
import gzip
import hashlib
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
from typing import BinaryIO, NoReturn

from tfds_builders.common import names as member_names
from tfds_builders.common.errors import ArchiveError, quoted
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

_NAMES_SHOWN = 5
_PART = 1 << 20  # bytes per read
_HEAD = 512
_ENCRYPTED = 1  # flag of a zip's member


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


class _Folder(Source):
    def _list(self):
        return self._within(self._walk())

    def _walk(self):
        for folder, folders, files in os.walk(self.path, onerror=_refuse, followlinks=True):
            here = pathlib.Path(folder)
            folders[:] = sorted(name for name in folders if not _leads_up(here / name))
            for path in map(here.joinpath, files):
                if path.is_file():
                    yield path.relative_to(self.path).as_posix(), path.stat().st_size
                elif path.is_symlink() and not path.exists():
                    raise ArchiveError(
                        f"{path} is a link to a file that does not exist. Get the file (run "
                        "git annex get, or mount its disk), or remove the link."
                    )

    def _stream(self, name):
        return (self.path / name).open("rb")

    def view(self, name):
        if not self._sizes.get(name):  # missing, or empty, which cannot be mapped
            return self.read(name)
        with self._opened(name) as stream:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def _refuse(error: OSError) -> NoReturn:
    raise ArchiveError(
        f"{error.filename} cannot be read: {error.strerror}. Make the file readable, or remove "
        "the file."
    ) from error


def _leads_up(folder: pathlib.Path) -> bool:
    """Returns whether a folder is a link to a folder above it. A search that follows the link would
    never end.
    """
    if not folder.is_symlink():
        return False
    target = folder.resolve()
    return any(parent.resolve().is_relative_to(target) for parent in folder.parents)


class _Packed(Source):
    """Base class of zip and tar archives. The file is closed when Python deletes the object."""

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
            if info.flag_bits & _ENCRYPTED:
                raise ArchiveError(
                    f"{self.title}: {name} is encrypted. Unpack the archive with its password, and "
                    "put the folder in its place."
                )
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
        # tarfile reports no error if an archive ends early, after a complete member
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
    """Opens a folder, a zip archive or a tar archive (plain, gz, xz or bz2). The function detects
    the format by the first bytes of the file.

    Raises:
        ArchiveError: If the path is not a folder, a zip archive or a tar archive, if the archive is
            damaged or unsafe, or if it exceeds the limits.
    """
    if path.is_dir():
        return _Folder(path.resolve().name, limits, path=path)
    return open_archive(path.open("rb"), path.name, limits, path=path)


def open_archive(file: BinaryIO, title: str, limits: Limits, depth: int = 0, path=None) -> Source:
    """Opens an archive from an open file. See `open_source`."""
    head = file.read(_HEAD)
    file.seek(0)
    if head.startswith(b"PK"):
        return _Zip(file, title, limits, depth, path)
    if _decompressor(head) is not None or head[257:262] == b"ustar":
        return _Tar(file, title, limits, depth, path)
    file.close()
    raise ArchiveError(
        f"{title} is neither a zip nor a tar archive (it begins with {quoted(head[:16])}). It "
        "may be a web page or an incomplete download. Download it again."
    )


def _decompressor(head: bytes):
    if head.startswith(b"\x1f\x8b"):
        return lambda file: gzip.GzipFile(fileobj=file)
    if head.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMAFile
    return bz2.BZ2File if head.startswith(b"BZh") else None


def _match(pattern: str, name: str) -> re.Match | None:
    if "/" not in pattern:
        return re.fullmatch(pattern, name.rsplit("/", 1)[-1])
    while (match := re.fullmatch(pattern, name)) is None and "/" in name:
        name = name.partition("/")[2]
    return match
