"""Functions that find the trials of each person in the archives of the EEG data set."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import BinaryIO

from tfds_builders.common.archive import Source
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits
from tfds_builders.common.progress import track
from tfds_builders.parsers import smni

log = logging.getLogger("tfds_builders")

# in the protocol of Abdelwahab2019, a person needs at least five trials to verify and one to enroll
MINIMUM_TRIALS = 6
_TRIAL = r"(co\d[ac]\d{7})\.rd\.(\d{3})(?:\.gz)?"
# the small data set has one archive for each person and condition
_PERSON = r"((?:[ac]_[1mn]_)?)(co\d[ac]\d{7})\.tar(?:\.gz)?"
GET = (
    "Get the archive (about 700 MB) from https://doi.org/10.24432/C5TS3D. The config "
    "uci_eeg/full needs eeg_full.tar, uci_eeg/large needs SMNI_CMI_TRAIN.tar.gz and "
    "SMNI_CMI_TEST.tar.gz, and uci_eeg/small needs smni_eeg_data.tar.gz. Put the files into "
    "the manual folder without unpacking them. Then run `python -m tfds_builders.build "
    "uci_eeg --manual-dir FOLDER`."
)


def _wanted(stem: str, official: str, loose: str = "", *, also: tuple[str, ...] = ()) -> Wanted:
    return Wanted(
        dataset="uci_eeg",
        stems=(stem, *also),
        official=official,
        get=GET,
        loose=loose,
        outer=("eeg+database", "eeg_database"),
        limits=Limits(members=20_000, member_bytes=8 << 20, total_bytes=6 << 30),
    )


_ARCHIVES = {
    "full": _wanted("eeg_full", "eeg_full.tar", loose=r"co\d[ac]\d{7}(\.tar\.gz)?"),
    "large": _wanted("SMNI_CMI_TRAIN", "SMNI_CMI_TRAIN.tar.gz"),
    "small": _wanted(
        "smni_eeg_data",
        "smni_eeg_data.tar.gz",
        loose=r"[ac]_[1mn]_co\d[ac]\d{7}(\.tar\.gz)?",
        also=("smni97_eeg_data",),  # name of the archive in UCI's description
    ),
}
CONFIGS = {
    f"{archive}{kind}": wanted for archive, wanted in _ARCHIVES.items() for kind in ("", "_spd64")
}
TEST_OF_LARGE = _wanted("SMNI_CMI_TEST", "SMNI_CMI_TEST.tar.gz")


def usable_people(source: Source) -> dict[str, list[str]]:
    """Returns the files of each person who has enough non-empty trials. Logs the ids of people who
    have too few trials.

    Returns:
        A mapping from each subject to the paths of the subject's trial files or archives.

    Raises:
        ArchiveError: If no person has enough trials, if a person has trials both in archives and in
            files, or if a trial occurs twice.
    """
    people = members_of(source)
    counts = {}
    for subject, members in track(
        list(people.items()), f"{source.title}: looking for empty trials per person"
    ):
        seen: dict[str, str] = {}
        counts[subject] = 0
        for number, name, file in trial_files(source, members):
            if seen.setdefault(number, name) != name:
                raise ArchiveError(f"{seen[number]} and {name} are the same trial. Remove one.")
            counts[subject] += smni.has_samples(file.read())
    few = [subject for subject, count in counts.items() if count < MINIMUM_TRIALS]
    if few:
        log.warning(
            "%s: left out people with fewer than %d non-empty trials: %s.",
            source.title,
            MINIMUM_TRIALS,
            ", ".join(few),
        )
    if len(few) == len(people):
        names = source.first_names
        raise ArchiveError(
            f"{source.title} holds no person with at least {MINIMUM_TRIALS} non-empty trials "
            f"<subject>.rd.<number>. It holds {names}. {GET}"
        )
    return {subject: members for subject, members in people.items() if subject not in few}


def members_of(source: Source) -> dict[str, list[str]]:
    """Returns a dictionary from each person to the paths of the person's trial files or archives.

    Raises:
        ArchiveError: If a person has trials both in archives and in files.
    """
    trials = source.index(_TRIAL)
    archives = {(subject, part): name for (part, subject), name in source.index(_PERSON).items()}
    packed = {subject: name for (subject, _), name in archives.items()}
    for (subject, _), name in trials.items():
        if subject in packed:
            raise ArchiveError(
                f"{source.title} holds {subject} twice: {packed[subject]} and {name}. Remove one "
                "of the two."
            )
    people: dict[str, list[str]] = {}
    for (subject, _), name in sorted({**trials, **archives}.items()):
        people.setdefault(subject, []).append(name)
    return people


def trial_files(source: Source, members: list[str]) -> Iterator[tuple[str, str, BinaryIO]]:
    """Opens the trials of a person. Yields the number, the name and the decompressed file of each
    trial.

    Args:
        source: The archive.
        members: Paths of trial files, or of archives that contain trial files.
    """
    for member in members:
        if member.endswith((".tar", ".tar.gz")):
            inner = source.nested(member)
            yield from trial_files(inner, sorted(inner.index(_TRIAL).values()))
            inner.close()
        else:
            number = member.removesuffix(".gz").rsplit(".", 1)[-1]
            yield number, f"{source.title}: {member}", source.open(member)
