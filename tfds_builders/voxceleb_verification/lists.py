"""Functions that find and read the lists of speakers and trials of VoxCeleb. All lists are in one
archive or folder.
"""

from __future__ import annotations

import os

from tfds_builders.common.archive import Source
from tfds_builders.common.errors import MissingArchiveError
from tfds_builders.common.find import Wanted, find
from tfds_builders.common.limits import Limits
from tfds_builders.parsers import speakers, trials

TRIALS = {  # config: file, and number of trials in the official list
    "trials_o": ("veri_test.txt", 37_720),
    "trials_o_cleaned": ("veri_test2.txt", 37_611),
    "trials_e": ("list_test_all.txt", 581_480),
    "trials_e_cleaned": ("list_test_all2.txt", 579_818),
    "trials_h": ("list_test_hard.txt", 552_536),
    "trials_h_cleaned": ("list_test_hard2.txt", 550_894),
}
SPEAKERS = {"vox1": "vox1_meta.csv", "vox2": "vox2_meta.csv"}
GET = (
    "Get the lists (vox1_meta.csv, vox2_meta.csv, veri_test.txt, ...) and the recordings as "
    "https://www.robots.ox.ac.uk/~vgg/data/voxceleb/ describes. The builder reads wav files "
    "at 16 kHz, so the m4a files of VoxCeleb2 must be converted. Put all files into a folder "
    "voxceleb_verification in the manual folder. Then run `python -m tfds_builders.build "
    "voxceleb_verification --manual-dir FOLDER`."
)
_LIST = r"vox[12]_meta\.csv|veri_test2?\.txt|list_test_(all|hard)2?\.txt"
WANTED = Wanted(
    dataset="voxceleb_verification",
    aliases=("voxceleb_lists",),
    stems=("voxceleb_lists",),
    loose=_LIST,
    official="vox1_meta.csv",
    get=GET,
    # large limits, because the recordings may be in the same folder
    limits=Limits(members=4_000_000, member_bytes=256 << 20, total_bytes=1 << 42),
)


def find_lists(manual_dir: str | os.PathLike, needed: str) -> Source:
    """Finds the lists.

    Args:
        manual_dir: The folder with the data.
        needed: Name of the list that must exist.

    Raises:
        MissingArchiveError: If the list is missing. The error names the existing lists.
        ArchiveError: See `find.find`.
    """
    source = find(manual_dir, WANTED).only(_LIST)
    if _member(source, needed) is None:
        lists = [file for file in _files() if _member(source, file)]
        source.close()
        raise MissingArchiveError(
            f"{source.title} holds no {needed}. It holds {', '.join(lists) or 'other files'}. {GET}"
        )
    return source


def read_speakers(source: Source, corpus: str) -> dict[str, speakers.Speaker]:
    """Reads the table of speakers of `"vox1"` or `"vox2"`. Returns a dictionary from the id of each
    speaker to the speaker.

    Raises:
        FormatError: See `parsers.speakers`.
    """
    member = _member(source, SPEAKERS[corpus])
    return speakers.parse(source.open(member), name=member).speakers


def read_trials(source: Source, file: str) -> trials.Trials:
    """Reads a list of trials. If the table `vox1_meta.csv` exists, the function looks up names of
    people in this table.

    Raises:
        FormatError: See `parsers.trials` and `parsers.speakers`.
    """
    has_table = _member(source, SPEAKERS["vox1"]) is not None
    table = read_speakers(source, "vox1") if has_table else {}
    ids = {speaker.name: key for key, speaker in table.items()}
    member = _member(source, file)
    return trials.parse(source.open(member), name=member, ids=ids)


def _files() -> list[str]:
    return [*SPEAKERS.values(), *(file for file, _ in TRIALS.values())]


def _member(source: Source, file: str) -> str | None:
    """Returns the path of the file with the given name. If several files have this name, returns
    the path with the fewest folders.
    """
    members = [name for name in source.names if name.rsplit("/", 1)[-1] == file]
    return min(members, key=lambda name: (name.count("/"), name), default=None)
