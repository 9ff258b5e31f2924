"""Which data sets are prepared, and which archives are there or missing; nothing is unpacked."""

from __future__ import annotations

import os
import pathlib

import tfds_builders
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted, located
from tfds_builders.common.places import data_folder, local


def inventory(
    manual_dir: str | os.PathLike | None = None, data_dir: str | os.PathLike | None = None
) -> dict[str, dict]:
    """Looks for every data set.

    Args:
        manual_dir: The folder with the archives; `<data_dir>/downloads/manual` when not given.
        data_dir: Where prepared data sets are kept; TFDS's own folder when not given.

    Returns:
        By name `people`, `size`, `license`, as the source offers it, and `configs`: for each
        `prepared` (the file formats), `archive` (its path, where all is there, or None), `missing`
        (the official archive that is not there, or None) and `problem` (why the one there cannot be
        used). A file within an archive is not looked for: nothing is opened.
    """
    data_dir = data_folder(data_dir)
    manual_dir = local(manual_dir or data_dir / "downloads" / "manual", "--manual-dir")
    found = {}
    for name in tfds_builders.list_builders():
        cls = tfds_builders.builder_cls(name)
        found[name] = {
            "people": cls.ABOUT.people,
            "size": cls.ABOUT.size,
            "license": cls.ABOUT.license,
            "configs": {
                config: {
                    "prepared": _prepared(f"{name}/{config}", data_dir),
                    **_archive(manual_dir, cls.ABOUT.needs(config)),
                }
                for config in cls.builder_configs
            },
        }
    return found


def _prepared(name: str, data_dir: pathlib.Path) -> list[str]:
    return [
        file_format
        for file_format in reading.FORMATS
        if reading.folder_of(name, reading.root_of(data_dir, file_format)).is_dir()
    ]


def _archive(manual_dir: pathlib.Path, needed: list[tuple[Wanted, ...]]) -> dict[str, str | None]:
    paths, problem = [], None
    try:
        for archives in needed:
            found = (located(manual_dir, wanted) for wanted in archives)
            paths.append(next(filter(None, found), None))
    except (ArchiveError, OSError) as error:  # a folder that may not be read
        problem = str(error)
    absent = [of[0].official for of, path in zip(needed, paths, strict=False) if path is None]
    is_whole = not absent and problem is None
    return {
        "archive": str(paths[0]) if is_whole else None,
        "missing": absent[0] if absent else None,
        "problem": problem,
    }
