"""Function that lists prepared data sets, existing archives and missing archives. The function does
not unpack archives.
"""

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
    """Searches the folders for the prepared files and the archives of all data sets.

    Args:
        manual_dir: The folder with the archives. Default: `<data_dir>/downloads/manual`.
        data_dir: The folder with the prepared data sets. Default: the folder of TFDS.

    Returns:
        Dictionary from the name of each data set to a dictionary with the keys `people`, `size`,
        `license` and `configs`. `configs` maps the name of each config to another dictionary. In
        this dictionary, `prepared` lists the file formats in which the config is prepared.
        `archive` is the path of the archive, or None if an archive is missing. `missing` is the
        name of the missing official archive, or None. `problem` is the reason why the archive
        cannot be used, or None. The function does not open archives.
    """
    data_dir = data_folder(data_dir)
    manual_dir = local(manual_dir or data_dir / "downloads" / "manual", "--manual-dir")
    datasets = {}
    for name in tfds_builders.list_builders():
        cls = tfds_builders.builder_cls(name)
        datasets[name] = {
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
    return datasets


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
            candidates = (located(manual_dir, wanted) for wanted in archives)
            paths.append(next(filter(None, candidates), None))
    except (ArchiveError, OSError) as error:  # for example, a permission is missing
        problem = str(error)
    absent = [
        archives[0].official for archives, path in zip(needed, paths, strict=False) if path is None
    ]
    is_whole = not absent and problem is None
    return {
        "archive": str(paths[0]) if is_whole else None,
        "missing": absent[0] if absent else None,
        "problem": problem,
    }
