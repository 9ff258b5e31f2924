"""Functions that find the archive of a data set, or its unpacked folder, in the manual folder."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import shlex
from collections.abc import Mapping

from tfds_builders.common.archive import Source, open_source
from tfds_builders.common.errors import ArchiveError, MissingArchiveError
from tfds_builders.common.limits import Limits

EXTENSIONS = (".zip", ".tar.xz", ".tar.gz", ".tgz", ".tar.bz2", ".tar")
_NAMES_SHOWN = 8


@dataclasses.dataclass(frozen=True)
class Wanted:
    """Archives that a builder accepts.

    Attributes:
        dataset: Name of the data set. `find` first searches the folder `<manual>/<dataset>/`, then
            `<manual>/`.
        stems: Accepted names of the archive, without extension. Case is ignored. A folder with one
            of these names is accepted as the unpacked archive.
        official: Name of the official archive. The error message states this name.
        get: Sentence that tells users where and how to get the archive.
        loose: Regular expression for names of files or folders. A folder with any name is accepted
            as the unpacked archive if it directly contains a match.
        outer: Names, without extension, of larger archives that may contain the wanted archive.
        limits: Limits for the size and the contents of the archive.
        aliases: Other names that the folder `<manual>/<dataset>/` may have.
    """

    dataset: str
    stems: tuple[str, ...]
    official: str
    get: str
    loose: str = ""
    outer: tuple[str, ...] = ()
    limits: Limits = Limits()
    aliases: tuple[str, ...] = ()


def find(manual_dir: str | os.PathLike, wanted: Wanted) -> Source:
    """Finds and opens the archive of a builder.

    Args:
        manual_dir: Folder that contains the archive. The archive may also be in the subfolder
            `<manual_dir>/<dataset>/`.
        wanted: Description of the archives that the builder accepts.

    Returns:
        The opened folder or archive.

    Raises:
        MissingArchiveError: If the archive is missing. The error lists the expected and the
            existing names.
        ArchiveError: If the folder contains two matching archives, or if the archive cannot be
            opened.
    """
    manual = pathlib.Path(manual_dir).expanduser()
    path, is_outer = _located(manual, wanted)
    if path is not None:
        source = open_source(path, wanted.limits)
        return _inner(source, wanted) if is_outer else source
    if manual.is_file():
        raise MissingArchiveError(
            f"{wanted.dataset}: {manual} is a file. Give its folder: "
            f"--manual-dir {shlex.quote(str(manual.parent))}"
        )
    folders = _own(manual, wanted)
    raise MissingArchiveError(_missing(manual, [*folders, *_folders(manual, ("",))], wanted))


def located(manual_dir: str | os.PathLike, wanted: Wanted) -> pathlib.Path | None:
    """Returns the path where the data set was found: an archive, an unpacked folder, or a larger
    archive that may contain the wanted archive. Returns None if nothing was found.

    Raises:
        ArchiveError: If the folder contains two matching archives.
    """
    return _located(pathlib.Path(manual_dir).expanduser(), wanted)[0]


def _located(manual: pathlib.Path, wanted: Wanted) -> tuple[pathlib.Path | None, bool]:
    """Returns the path that `located` returns, and whether the path is a larger archive that may
    contain the wanted archive.
    """
    folders_of_dataset = _own(manual, wanted)
    for folders, passed in (
        (folders_of_dataset, []),
        (_folders(manual, ("",)), folders_of_dataset),
    ):
        candidates = [p for folder in folders for p in _candidates(folder, wanted)]
        path = _only([p for p in candidates if p not in passed], manual)
        if path is not None:
            return path, False
        path = _only([p for folder in folders for p in _named(folder, wanted.outer)], manual)
        if path is not None:
            return path, True
    return None, False


def find_config(
    manual_dir: str | os.PathLike, configs: Mapping[str, Wanted], config: str
) -> Source:
    """Finds the archive of one config.

    Raises:
        MissingArchiveError: If the archive is missing. If the folder contains the archive of
            another config, the error names that config.
        ArchiveError: See `find`.
    """
    wanted = configs[config]
    command = f"build {wanted.dataset}"
    get = wanted.get.replace(f"{command} ", f"{command}/{config} ")
    wanted = dataclasses.replace(wanted, get=get)
    try:
        return find(manual_dir, wanted)
    except MissingArchiveError:
        configs_there = [
            name for name in configs if name != config and _is_there(manual_dir, configs[name])
        ]
        if not configs_there:
            raise
    place = f"{wanted.dataset}/{configs_there[0]}"
    hint = f"The folder holds the archive of {place}. Prepare {place}, or:"
    return find(manual_dir, dataclasses.replace(wanted, get=f"{hint} {wanted.get}"))


def _is_there(manual_dir: str | os.PathLike, wanted: Wanted) -> bool:
    try:
        find(manual_dir, wanted).close()
    except ArchiveError:
        return False
    return True


def _own(manual: pathlib.Path, wanted: Wanted) -> list[pathlib.Path]:
    return _folders(manual, (wanted.dataset, *wanted.aliases))


def _folders(manual: pathlib.Path, names: tuple[str, ...]) -> list[pathlib.Path]:
    return [manual / name for name in names if (manual / name).is_dir()]


def _candidates(folder: pathlib.Path, wanted: Wanted) -> list[pathlib.Path]:
    itself = any(re.fullmatch(wanted.loose, child.name) for child in folder.iterdir())
    return [*_named(folder, wanted.stems), *[folder] * itself]


def _named(folder: pathlib.Path, stems: tuple[str, ...]) -> list[pathlib.Path]:
    names = {stem.lower() for stem in stems}
    files = {name + extension for name in names for extension in EXTENSIONS}
    children = sorted(folder.iterdir())
    return [p for p in children if p.name.lower() in (names if p.is_dir() else files)]


def _only(paths: list[pathlib.Path], manual: pathlib.Path) -> pathlib.Path | None:
    if len(paths) > 1:
        named = " and ".join(_shown(path, manual) for path in paths)
        raise ArchiveError(
            f"{manual} holds {named}, but may hold only one archive of a data set. Move the other "
            "archives elsewhere. If they are parts of one archive, unpack all parts into one "
            "folder."
        )
    return paths[0] if paths else None


def _shown(path: pathlib.Path, manual: pathlib.Path) -> str:
    return "the files themselves" if path == manual else path.relative_to(manual).as_posix()


def _inner(outer: Source, wanted: Wanted) -> Source:
    files = {stem.lower() + extension for stem in wanted.stems for extension in EXTENSIONS}
    members = [name for name in outer.names if name.rsplit("/", 1)[-1].lower() in files]
    if len(members) != 1:
        raise MissingArchiveError(
            f"{outer.title} holds {_listed(list(outer.names))}, expected exactly one "
            f"{wanted.official}. {wanted.get}"
        )
    return outer.nested(members[0])


def _missing(manual: pathlib.Path, folders: list[pathlib.Path], wanted: Wanted) -> str:
    if not folders:
        return f"{wanted.dataset}: the folder {manual} does not exist. {wanted.get}"
    looked = " and ".join(str(folder) for folder in folders)
    names = [child.name for folder in folders for child in sorted(folder.iterdir())]
    return (
        f"{wanted.dataset}: no archive in {looked}. Found: {_listed(names)}, expected "
        f"{wanted.official}. Other accepted names are {' or '.join(wanted.stems)}, as an unpacked "
        f"folder or with {', '.join(EXTENSIONS)}. {wanted.get}"
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(names[:_NAMES_SHOWN]) + more if names else "nothing"
