"""Writes templates (the stored embeddings of a gallery) to files, and reads these files.

A template file is an uncompressed `.npz` file without pickles. The file is not encrypted, and
`numpy.load(path, allow_pickle=False)` can read it. The file contains these arrays:

- `header`: JSON text with `format` "keras-dml templates", `version` 1, and the `model` and
  `fingerprint` of the gallery.
- `people`: name of the person of each template, text, shape `(count,)`.
- `enrolled`: True for enrolled templates, False for templates that `reject` stored, shape
  `(count,)`.
- `embeddings`: the templates, float32, shape `(count, ...)`.
"""

import json
import os
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_dml import _files
from keras_dml._typing import Path

FORMAT, VERSION = "keras-dml templates", 1


def write(
    path: Path,
    about: dict[str, str],
    people: Sequence[str],
    enrolled: np.ndarray,
    embeddings: np.ndarray,
) -> None:
    """Writes templates to a file that only its owner may read.

    If writing fails, an existing file keeps its content.

    Args:
        path: Path of the file. An existing file is replaced.
        about: Name and fingerprint of the model, `{"model": ..., "fingerprint": ...}`.
        people: Name of the person of each template.
        enrolled: True for enrolled templates, False for templates that `reject` stored.
        embeddings: Templates, shape `(count, ...)`.

    Raises:
        ValueError: If `path` cannot be the path of a file.
        OSError: If the file cannot be written.
    """
    header = json.dumps({"format": FORMAT, "version": VERSION, **about})
    with _files.staged(path) as candidate:
        descriptor = os.open(candidate, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with open(descriptor, "wb") as file:
            np.savez(
                file,
                header=np.array(header),
                people=np.array(people, dtype=np.str_),
                enrolled=np.asarray(enrolled, bool),
                embeddings=np.asarray(embeddings, "<f4"),
            )
        if os.path.exists(path):
            os.chmod(path, 0o600)  # the new file gets the mode of the old file


def read(path: Path) -> tuple[dict[str, Any], list[str], np.ndarray, np.ndarray]:
    """Reads templates from a file.

    Args:
        path: Path of the file, which may come from an untrusted source.

    Returns:
        `(about, people, enrolled, embeddings)`, see the arguments of `write`.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file is of another kind or of a later version, or is damaged.
    """
    try:
        with zipfile.ZipFile(path) as file:
            if any(member.compress_type != zipfile.ZIP_STORED for member in file.infolist()):
                raise ValueError(
                    "the file is compressed, so its size after decompression is unknown"
                )
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["header"][()]))
            arrays = [file[name] for name in ("people", "enrolled", "embeddings")]
        _check(about, *arrays)
    except FileNotFoundError:
        raise
    except _ERRORS as error:
        raise ValueError(
            f"{path} is not a file of templates of keras-dml, or it is damaged: {error}."
        ) from None
    people, enrolled, embeddings = arrays
    return about, people.tolist(), enrolled, embeddings


_ERRORS = (
    *(EOFError, KeyError, MemoryError, OSError, TypeError, ValueError),
    *(NotImplementedError, RecursionError, zipfile.BadZipFile),
)


def _check(about, people, enrolled, embeddings):
    if not isinstance(about, dict) or not {"model", "fingerprint"} <= about.keys():
        raise ValueError("the header of the file names no model")
    if about.get("format") != FORMAT:
        raise ValueError(
            f"the header of the file names the format {about.get('format')!r}, but {FORMAT!r} is "
            "expected"
        )
    if about.get("version") != VERSION:
        raise ValueError(
            f"the file has version {about.get('version')!r}, but this release reads version "
            f"{VERSION}"
        )
    count = len(embeddings)
    kinds = (people.dtype.kind, enrolled.dtype, embeddings.dtype)
    if kinds != ("U", np.dtype(bool), np.dtype("<f4")):
        raise ValueError("the arrays in the file do not have the data types of templates")
    if people.shape != (count,) or enrolled.shape != (count,) or embeddings.ndim < 2:
        raise ValueError("the arrays in the file do not have the shapes of templates")
    if not np.isfinite(embeddings).all():
        raise ValueError("an embedding in the file holds NaN or infinity")
