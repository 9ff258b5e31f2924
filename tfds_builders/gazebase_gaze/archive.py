"""Reader for the archive of GazeBase. The archive contains one packed or unpacked folder for each
visit of a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tfds_builders.common.archive import Source
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits

TASKS = {
    "TEX": "reading", "FXS": "fixation", "HSS": "horizontal saccades", "RAN": "random saccades",
    "VD1": "the first video", "VD2": "the second video", "BLG": "a game steered by gaze",
}  # fmt: skip
_VISIT = r"Subject_(\d)(\d{3})\.zip"
_RECORDING = r"S_(\d)(\d{3})_S([12])_([A-Z\d]{3})\.csv"
GET = (
    "Get GazeBase_v2_0.zip (6.7 GB) from https://doi.org/10.6084/m9.figshare.12912257. Put "
    "the zip file into the manual folder. Then run `python -m tfds_builders.build "
    "gazebase_gaze --manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="gazebase_gaze",
    stems=("GazeBase_v2_0", "GazeBase"),
    loose=r"Round_\d",
    official="GazeBase_v2_0.zip",
    get=GET,
    limits=Limits(members=40_000, total_bytes=128 << 30),
)


class Visit(NamedTuple):
    """One visit, which consists of the recordings of one person in one round.

    Attributes:
        members: List with the path of the visit's archive. If this archive was unpacked, the list
            contains the paths of the visit's recordings.
    """

    subject: str
    round: int
    members: list[str]


class Recording(NamedTuple):
    """One recording, described by the parts of its file name and the bytes of the file."""

    subject: str
    round: int
    session: int
    task: str
    name: str
    content: bytes

    @property
    def key(self) -> str:
        return f"{self.subject}/{self.round}/{self.session}/{self.task}"


def visits_of(source: Source) -> list[Visit]:
    """Returns the visits of an archive, in the order of subjects and rounds.

    Raises:
        ArchiveError: If the archive has no visit, or if it contains a visit both packed and
            unpacked.
    """
    visits: dict[tuple[str, int], list[str]] = {}
    packed = source.index(_VISIT)
    for (number, subject), member in packed.items():
        visits[subject, int(number)] = [member]
    for (number, subject, *_), member in source.index(_RECORDING).items():
        if (number, subject) in packed:
            raise ArchiveError(
                f"{source.title} holds round {number} of {subject} twice: "
                f"{packed[number, subject]} and {member}. Remove one of the two."
            )
        visits.setdefault((subject, int(number)), []).append(member)
    if not visits:
        names = source.first_names
        raise ArchiveError(
            f"{source.title} holds no file such as Round_1/Subject_1001.zip. It holds {names}. "
            f"{GET}"
        )
    return [Visit(*key, members) for key, members in sorted(visits.items())]


def recordings_of(source: Source, visit: Visit, task: str | None) -> Iterator[Recording]:
    """Reads the recordings of a visit, for the given task or, if `task` is None, for all tasks.

    Raises:
        ArchiveError: If the archive of a visit contains a recording of another visit.
    """
    for member in visit.members:
        if not member.endswith(".zip"):
            yield from _read(source, [member], task)
            continue
        inner = source.nested(member)
        for recording in _read(inner, sorted(inner.index(_RECORDING).values()), task):
            if (recording.subject, recording.round) != (visit.subject, visit.round):
                raise ArchiveError(
                    f"{recording.name} is a recording of {recording.subject} in round "
                    f"{recording.round}, but is in the archive of another visit. Get the archive "
                    "again."
                )
            yield recording
        inner.close()


def _read(source: Source, members: list[str], task: str | None) -> Iterator[Recording]:
    for member in members:
        title = f"{source.title}: {member}"
        number, subject, session, task_in_name = re.fullmatch(_RECORDING, _base(member)).groups()
        if task_in_name not in TASKS:
            raise ArchiveError(
                f"{title} has the task {task_in_name} in its name, expected one of "
                f"{', '.join(TASKS)}. Remove the file, or get the archive again."
            )
        if task in (None, task_in_name):
            content = source.read(member)
            yield Recording(subject, int(number), int(session), task_in_name, title, content)


def _base(member: str) -> str:
    return member.rpartition("/")[2]
