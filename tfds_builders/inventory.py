"""Which data sets are prepared, and which archives are there or missing; nothing is unpacked."""

from __future__ import annotations

import os
import pathlib

from tensorflow_datasets.core import constants

import tfds_builders
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted, located


def inventory(
    manual_dir: str | os.PathLike | None = None, data_dir: str | os.PathLike | None = None
) -> dict[str, dict]:
    """Looks for every data set.

    Args:
        manual_dir: The folder with the archives; `<data_dir>/downloads/manual` when not given.
        data_dir: Where prepared data sets are kept; TFDS's own folder when not given.

    Returns:
        By name `people`, `size`, `license`, as the source offers it, and `configs`: for each
        `prepared` (the file formats), `archive` (its path, or None), `missing` (the official
        archive where none is there, else None) and `problem` (why the one there cannot be used).
    """
    data_dir = pathlib.Path(data_dir or constants.get_default_data_dir()).expanduser()
    manual_dir = pathlib.Path(manual_dir or data_dir / "downloads" / "manual").expanduser()
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
                    **_archive(manual_dir, cls.ABOUT.archives_of(config)),
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


def _archive(manual_dir: pathlib.Path, archives: tuple[Wanted, ...]) -> dict[str, str | None]:
    path, problem = None, None
    try:
        path = next(filter(None, (located(manual_dir, wanted) for wanted in archives)), None)
    except ArchiveError as error:
        problem = str(error)
    is_missing = path is None and problem is None
    return {
        "archive": None if path is None else str(path),
        "missing": archives[0].official if is_missing else None,
        "problem": problem,
    }
