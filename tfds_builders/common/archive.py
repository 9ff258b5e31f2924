"""Readers of archives and unpacked folders. All readers have the same interface, which lists the
names of members and reads the bytes of a member.

TFDS's extractor silently drops absolute names and names with `..`, reads whole members into memory
and has no limits. This module raises an error for absolute names and names with `..`. The module
also limits the number and size of members, the compression ratio, and the depth of archives inside
archives. A compressed tar is unpacked once into an unnamed temporary file, so that its members can
be read in any order.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import mmap
import os
import pathlib
import stat
import tarfile
import weakref
import zipfile
from typing import BinaryIO, NoReturn

from tfds_builders.common import names as member_names
from tfds_builders.common.errors import ArchiveError, quoted
from tfds_builders.common.limits import FREE_BYTES, Limits, bomb, not_a_file, spooled
from tfds_builders.common.source import Source

_HEAD = 512
_ENCRYPTED = 1  # flag of a zip's member


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
