"""Writes files and folders atomically. A folder is replaced only by a new folder of the same
kind."""

from keras_dml._files.paths import (
    path_with_name,
    replaceable_bundle,
    replaceable_c_library,
    replaceable_file,
    replaceable_folder,
    replaceable_onnx,
    replaceable_saved_model,
)
from keras_dml._files.staging import size, staged, write_text
from keras_dml._files.tmp_dirs import tmp_dir

__all__ = [
    "replaceable_bundle",
    "replaceable_c_library",
    "replaceable_file",
    "replaceable_folder",
    "replaceable_onnx",
    "path_with_name",
    "replaceable_saved_model",
    "size",
    "staged",
    "tmp_dir",
    "write_text",
]
