"""The templates of a gallery as a file of arrays: for another gallery, or for a device.

A `.npz` without compression and pickles, which `numpy.load(path, allow_pickle=False)` reads:

- `header`: JSON text: `format` "keras-dml templates", `version` 1, `model` and `fingerprint` as the
  gallery names them
- `people`: names, shape `(count,)`, text
- `enrolled`: whether each template is the person's own, or marked as not theirs, shape `(count,)`
- `embeddings`: shape `(count, ...)` with that of one embedding, float32

Nothing in it is encrypted.
"""

import json
import os
import zipfile

import numpy as np

from keras_dml import _files

FORMAT, VERSION = "keras-dml templates", 1


def write(path, about, people, enrolled, embeddings):
    """Writes the file, whole or not at all, for its owner alone.

    Args:
        path: Path of the file; another one there is replaced.
        about: Name and fingerprint of the model, `{"model": ..., "fingerprint": ...}`.
        people: Name of each template's person.
        enrolled: Whether each is the person's own.
        embeddings: Shape `(count, ...)`.

    Raises:
        ValueError: If no file can be there.
        OSError: If it cannot be written.
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
            os.chmod(path, 0o600)  # which the new file takes over


def read(path):
    """Reads the file.

    Args:
        path: Path of the file, which may come from a stranger.

    Returns:
        `about`, `people`, `enrolled` and `embeddings` as `write` takes them.

    Raises:
        FileNotFoundError: If it does not exist.
        ValueError: If it is no such file, one of a later version, or damaged.
    """
    try:
        with zipfile.ZipFile(path) as file:
            if any(one.compress_type != zipfile.ZIP_STORED for one in file.infolist()):
                raise ValueError("it is packed, so that its size is not known")
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["header"][()]))
            arrays = [file[name] for name in ("people", "enrolled", "embeddings")]
        _check(about, *arrays)
    except FileNotFoundError:
        raise
    except _ERRORS as error:
        raise ValueError(
            f"{path} is no file of templates of keras-dml, or it is damaged: {error}."
        ) from None
    people, enrolled, embeddings = arrays
    return about, people.tolist(), enrolled, embeddings


_ERRORS = (
    *(EOFError, KeyError, MemoryError, OSError, TypeError, ValueError),
    *(NotImplementedError, RecursionError, zipfile.BadZipFile),
)


def _check(about, people, enrolled, embeddings):
    if not isinstance(about, dict) or not {"model", "fingerprint"} <= about.keys():
        raise ValueError("its header names no model")
    if about.get("format") != FORMAT:
        raise ValueError(f"its header names the format {about.get('format')!r}")
    if about.get("version") != VERSION:
        raise ValueError(
            f"it has version {about.get('version')!r}, and this release reads {VERSION}"
        )
    count = len(embeddings)
    kinds = (people.dtype.kind, enrolled.dtype, embeddings.dtype)
    if kinds != ("U", np.dtype(bool), np.dtype("<f4")):
        raise ValueError("its arrays have other types")
    if people.shape != (count,) or enrolled.shape != (count,) or embeddings.ndim < 2:
        raise ValueError("its arrays have other shapes")
    if not np.isfinite(embeddings).all():
        raise ValueError("an embedding holds NaN or infinity")
