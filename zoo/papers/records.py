"""Records of TensorFlow Datasets that the experiments read from archives."""

import importlib.util
import os
import sys
from typing import Any

from keras_dml._typing import Path


def require_packages() -> None:
    """Checks that the packages of the extra `data`, which read data sets, are installed.

    Raises:
        ImportError: If a package is missing. The message has the command that installs it.
    """
    modules = ("tensorflow_datasets", "array_record")
    if any(importlib.util.find_spec(module) is None for module in modules):
        raise ImportError(
            'The archives are read by TensorFlow Datasets: pip install "keras-dml[data]".'
        )


def read_records(name: str, manual_dir: Path, data_dir: Path | None = None) -> list[Any]:
    """Returns the records of all splits of a data set, which the first call prepares.

    Prints the folder of the prepared data on stderr.

    Args:
        name: Name of the builder with its config, `"ipol_gait/left_foot"`.
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
