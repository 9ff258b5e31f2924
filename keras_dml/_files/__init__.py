"""Atomic writes of files and folders, which never replace anything else."""

from keras_dml._files.paths import file_place, folder_place, path_with_name, saved_model_place
from keras_dml._files.staging import size, staged, write_text
from keras_dml._files.tmp_dirs import tmp_dir

__all__ = [
    "file_place",
    "folder_place",
    "path_with_name",
    "saved_model_place",
    "size",
    "staged",
    "tmp_dir",
    "write_text",
]
