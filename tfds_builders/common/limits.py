"""Limits for the size of an archive, and functions that read streams within these limits and report
damaged archives.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import gzip
import io
import lzma
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from tfds_builders.common.errors import ArchiveError, quoted

_CHUNK = 1 << 20
FREE_BYTES = 1 << 20  # bytes of a member below which the ratio is not checked
_DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, struct.error, EOFError,
    ValueError, RuntimeError, NotImplementedError, OverflowError, IndexError, KeyError, MemoryError,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Limits:
    """Upper limits for an archive.

    Attributes:
        members: Largest number of members.
        member_bytes: Largest number of bytes of one unpacked member.
        total_bytes: Largest number of bytes of all unpacked members.
        ratio: Largest ratio of unpacked to packed bytes. The ratio is checked only for members that
            have more than 1 MB after unpacking.
        nesting: Largest depth of archives inside archives.
    """

    members: int = 20_000
    member_bytes: int = 64 << 20
    total_bytes: int = 4 << 30
    ratio: int = 200
    nesting: int = 3


def gunzip(content: bytes, title: str, limits: Limits) -> bytes:
    """Decompresses one gzip member of an archive in memory, within the limits.

    Raises:
        ArchiveError: If the member is damaged or too large.
    """
    cap = min(limits.member_bytes, max(FREE_BYTES, limits.ratio * len(content)))
    with damage(title), gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        return bounded(stream, cap, title)


def bounded(stream: BinaryIO, limit: int, title: str) -> bytes:
    """Reads a stream to its end. Raises `ArchiveError` if the stream has more than `limit`
    bytes.
    """
    content = stream.read(limit + 1)
    if len(content) > limit:
        raise too_big(title, limit)
    return content


def spooled(stream: BinaryIO, limit: int, title: str) -> BinaryIO:
    """Copies a stream into a temporary file. Raises `ArchiveError` if the stream has more than
    `limit` bytes.
    """
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile())
        while chunk := stream.read(_CHUNK):
            file.write(chunk)
            if file.tell() > limit:
                raise too_big(title, limit)
        file.seek(0)
        stack.pop_all()
    return file


def too_big(title: str, limit: int) -> ArchiveError:
    """Returns the error for a member or an archive that exceeds its size limit."""
    return ArchiveError(
        f"{title} has more than {limit:,} bytes after decompression, so it does not belong to this "
        "data set."
    )


def bomb(title: str, ratio: int) -> ArchiveError:
    """Returns the error for a member with a suspiciously high compression ratio."""
    return ArchiveError(
        f"{title} has more than {ratio} times its size after decompression. It is refused as an "
        "archive bomb."
    )


def not_a_file(archive: str, name: str) -> ArchiveError:
    """Returns the error for a member that is not a plain file."""
    return ArchiveError(
        f"{archive}: {quoted(name)} is a link, a device or a sparse file. Nothing was read. Get "
        "the archive from its official place."
    )


@contextlib.contextmanager
def damage(title: str) -> Iterator[None]:
    """Context that raises `ArchiveError` if one of Python's modules reports damaged data in an
    archive.
    """
    try:
        yield
    except ArchiveError:
        raise
    except _DAMAGE as error:
        raise _damaged(title, error) from error
    except OSError as error:
        # gzip raises OSError without an error number. Any number except EINVAL means a disk error.
        if error.errno not in (None, errno.EINVAL):
            raise
        raise _damaged(title, error) from error


def _damaged(title: str, error: Exception) -> ArchiveError:
    return ArchiveError(
        f"{title} is damaged or incomplete ({str(error) or type(error).__name__}). Download it "
        "again."
    )
