"""Reads records from archives with TensorFlow Datasets."""

import importlib.util
import os
import sys
from typing import Any

from keras_dml._typing import Path


def require_packages() -> None:
    """Checks that the packages of the extra `data` are installed. The packages of this extra are
    needed to read data sets.

    Raises:
        ImportError: If a package is missing. The message contains the command that installs the
            package.
    """
    modules = ("tensorflow_datasets", "array_record")
    if any(importlib.util.find_spec(module) is None for module in modules):
        raise ImportError(
            "TensorFlow Datasets, which reads the archives, is not installed. Run "
            '`pip install "keras-dml[data]"`.'
        )


def read_records(name: str, manual_dir: Path, data_dir: Path | None = None) -> list[Any]:
    """Returns the records of all splits of a data set.

    The first call prepares the data set. The folder of the prepared data is printed on stderr.

    Args:
        name: Name of the builder with its config, such as `"ipol_gait/left_foot"`.
        manual_dir: Folder that holds the archive.
        data_dir: Folder of prepared data sets. None: the folder of TensorFlow Datasets.

    Raises:
        ImportError: If TensorFlow Datasets is not installed.
        ValueError: If the archive is missing or wrong.
    """
    require_packages()
    from tfds_builders import reading
    from tfds_builders.common.places import data_folder

    splits = reading.records(name, manual_dir, data_dir)
    folder = os.fspath(data_folder(data_dir))
    print(f"{name}: prepared data in {folder} (--data-dir)", file=sys.stderr, flush=True)
    return [record for records in splits.values() for record in records]
