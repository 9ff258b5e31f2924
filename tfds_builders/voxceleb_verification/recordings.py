"""Functions that find the recordings of VoxCeleb (`.../id10001/<video>/00001.wav`) in several
archives or folders.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from tfds_builders.common.archive import Source
from tfds_builders.common.errors import ArchiveError, MissingArchiveError, quoted
from tfds_builders.common.find import Wanted, find
from tfds_builders.common.limits import Limits
from tfds_builders.voxceleb_verification.lists import GET

_MEMBER = re.compile(r"(?:.*/)?(id\d{5})/([\w\-]{11})/(\d{5})\.wav", re.ASCII)
_CONVERT = (
    "`find . -name '*.m4a' -exec sh -c "
    '\'ffmpeg -i "$1" -ac 1 -ar 16000 -c:a pcm_s16le "${1%.m4a}.wav"\' _ {} \\;`'
)


def _wanted(official: str, *stems: str) -> Wanted:
    return Wanted(
        dataset="voxceleb_verification",
        stems=stems,
        official=official,
        get=GET,
        limits=Limits(members=4_000_000, member_bytes=64 << 20, total_bytes=1 << 41),
    )


ARCHIVES = {  # keys: corpus; all existing archives of a corpus are read together
    corpus: (
        _wanted(f"{corpus}_dev_wav.zip", f"{corpus}_dev_wav"),
        _wanted(f"{corpus}_test_wav.zip", f"{corpus}_test_wav"),
        _wanted(f"folder {corpus}", corpus, f"voxceleb{corpus[-1]}"),
    )
    for corpus in ("vox1", "vox2")
}


class Recording(NamedTuple):
    """One recording, described by the parts of its path, the key of its archive, and its path in
    the archive.
    """

    speaker: str
    video: str
    number: str
    archive: str
    member: str

    @property
    def key(self) -> str:
        return f"{self.speaker}/{self.video}/{self.number}"


def find_archives(manual_dir: str | os.PathLike, corpus: str) -> dict[str, Source]:
    """Finds all existing archives of a corpus.

    The keys of the result are the names of the archives without extension.

    Raises:
        MissingArchiveError: If none of the archives exists.
        ArchiveError: See `find.find`.
    """
    archives = {}
    for wanted in ARCHIVES[corpus]:
        with contextlib.suppress(MissingArchiveError):
            archives[wanted.stems[0]] = find(manual_dir, wanted)
    if not archives:
        find(manual_dir, ARCHIVES[corpus][0])  # raises an error that lists the existing files
    return archives


def recordings_of(sources: Mapping[str, Source], speakers: Container[str]) -> list[Recording]:
    """Returns all recordings, in the order of speakers, videos and numbers.

    Args:
        sources: Dictionary from the key of each archive to the archive.
        speakers: Ids of the speakers in the table.

    Raises:
        ArchiveError: If an archive has no recording, if a recording occurs twice, if its speaker is
            not in the table, or if a file is not named like a recording.
    """
    recordings: dict[str, Recording] = {}
    for archive, source in sources.items():
        before = len(recordings)
        for member in source.names:
            if not member.lower().endswith(".wav"):
                continue
            match = _MEMBER.fullmatch(member)
            if match is None or match[1] not in speakers:
                raise ArchiveError(
                    f"{source.title}: {quoted(member)} is not a recording of VoxCeleb, expected "
                    "<speaker>/<video>/<number>.wav with a speaker, such as id10001, from the "
                    "table of speakers. Remove all other .wav files."
                )
            recording = Recording(*match.groups(), archive, member)
            first = recordings.setdefault(recording.key, recording)
            if first is not recording:
                raise ArchiveError(
                    f"The same recording occurs twice: {source.title} holds {member}, and "
                    f"{sources[first.archive].title} holds {first.member}. Remove one of the two."
                )
        if len(recordings) == before:
            _refuse(source)
    return sorted(recordings.values(), key=lambda recording: recording.key)


def _refuse(source: Source) -> None:
    """Raises an error for an archive that contains no recording."""
    if any(name.endswith(".m4a") for name in source.names):
        raise ArchiveError(
            f"{source.title} holds .m4a files, but .wav files are expected. Unpack the archive, "
            f"convert the recordings with ffmpeg ({_CONVERT}), and try again."
        )
    names = source.first_names
    raise ArchiveError(
        f"{source.title} holds no <speaker>/<video>/<number>.wav. It holds {names}. {GET}"
    )


def sessions_of(recordings: Iterable[Recording]) -> Mapping[tuple[str, str], int]:
    """Numbers the videos of each speaker from 0. The keys of the result are (speaker, video)."""
    videos: dict[str, set[str]] = {}
    for recording in recordings:
        videos.setdefault(recording.speaker, set()).add(recording.video)
    return {
        (speaker, video): place
        for speaker, names in videos.items()
        for place, video in enumerate(sorted(names))
    }
