"""Registry of the file formats of recordings.

To add a format, write a module with a function that reads a file, and add an entry to `FORMATS`.
Help texts, pages, error messages and the server list the formats of this registry. The module that
reads a format is imported when the first file of this format is read.
"""

import contextlib
import dataclasses
import importlib
import os
import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # help texts must not import NumPy
    from keras_dml._typing import Path
    from keras_dml.recordings._options import Options
    from keras_dml.recordings._recording import Signal

PACKED = ".gz"  # suffix of text files that gzip compressed
# Modules that `read` needs for every format.
LIBRARIES = ("keras_dml.recordings._read", "scipy.interpolate")
HINTS = {  # advice in the error for a file with one of these suffixes
    ".asc": "Write a sample report by EyeLink Data Viewer",
    ".xlsx": "Save the sheet as CSV",
    ".xls": "Save the sheet as CSV",
}


@dataclasses.dataclass(frozen=True)
class Format:
    """File format of recordings.

    The decoded content of a file may be much larger than the file, so the function that reads the
    file must enforce the limits of `_bounds`.

    Attributes:
        name: Name of the format in help texts.
        suffixes: File name suffixes, in lower case.
        reader: Module and name of a function `read(path, options)` that returns `(signal,
            resolution)`. `resolution` is the smallest time difference that the clock of the file
            can record, in seconds.
        detector: Module and name of a function `is_recording(path)` that returns whether a file in
            a folder is a recording. If `detector` is None, every file with a suffix in `suffixes`
            is a recording.
        libraries: Third-party modules that the reader imports directly or indirectly. For example,
            PyArrow imports pandas if pandas is installed.
        may_be_packed: Whether files of this format may be compressed by gzip.
    """

    name: str
    suffixes: tuple[str, ...]
    reader: str
    detector: str | None = None
    libraries: tuple[str, ...] = ()
    may_be_packed: bool = False

    def read(self, path: pathlib.Path, options: "Options") -> "tuple[Signal, float]":
        """Reads a file in this format."""
        return _load(self.reader)(path, options)

    def is_recording(self, path: pathlib.Path) -> bool:
        """Returns whether a file with a suffix of this format is a recording."""
        return self.detector is None or _load(self.detector)(path)

    def import_libraries(self) -> None:
        """Imports all installed modules that `read` needs."""
        _load(self.reader)
        for name in self.libraries:
            with contextlib.suppress(ImportError, OSError):  # OSError: libsndfile is not installed
                importlib.import_module(name)


FORMATS = (
    Format(
        "csv",
        (".csv", ".tsv", ".txt"),
        "_text.read",
        detector="_text.is_recording",
        may_be_packed=True,
    ),
    Format("npy", (".npy",), "_npy.read"),
    Format("parquet", (".parquet",), "_parquet.read", libraries=("pyarrow.parquet", "pandas")),
    Format("wav", (".wav",), "_sound.read_wav"),
    Format("flac", (".flac",), "_sound.read_flac", libraries=("soundfile",)),
)


def _load(place):
    """Imports a function from its module, and returns the function. `place` is
    `module.function`."""
    module, _, name = place.partition(".")
    return getattr(importlib.import_module(f"keras_dml.recordings.{module}"), name)


def suffixes() -> tuple[str, ...]:
    """Returns the file name suffixes that `read` accepts, in lower case."""
    return (*(suffix for entry in FORMATS for suffix in entry.suffixes), PACKED)


def format_names() -> str:
    """Returns the names of all formats as one text for help, such as `"csv, npy, ... or flac"`."""
    *names, last = (entry.name for entry in FORMATS)
    return f"{', '.join(names)} or {last}"


def import_libraries() -> None:
    """Imports all libraries that `read` may need. Later calls of `read` are faster, because the
    libraries are already imported."""
    for entry in FORMATS:
        entry.import_libraries()
    for name in LIBRARIES:
        importlib.import_module(name)


def is_recording(path: "Path") -> bool:
    """Returns whether a file is a recording, judged by its suffix.

    A `.txt` file must also contain rows of numbers, because folders often contain notes in `.txt`
    files.
    """
    path = pathlib.Path(path)
    suffix = path.suffix.lower()
    entry = _by_suffix(suffix)
    return suffix == PACKED or (entry is not None and entry.is_recording(path))


def check_file(path: "Path") -> None:
    """Checks that a file exists and has a suffix that `read` accepts. Does not read the file.

    Args:
        path: Path of the file.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If `path` is a folder, or if `read` accepts no format with this suffix.
    """
    format_of(pathlib.Path(path))


def format_of(path: pathlib.Path) -> Format:
    """Returns the format of a file. Raises the same errors as `check_file`."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file {os.fspath(path)!r}.")
    if not path.is_file():
        raise ValueError(f"{os.fspath(path)!r} is not a file. Name files of recordings.")
    suffix = path.suffix.lower()
    if suffix == PACKED:
        return _packed_format(path)
    entry = _by_suffix(suffix)
    if entry is None:
        raise ValueError(
            f"{path} ends in {path.suffix or 'nothing'!r}, but files of recordings end in "
            f"{', '.join(suffixes())}. {HINTS.get(suffix, 'Convert it')}."
        )
    return entry


def _packed_format(path):
    inner = pathlib.Path(path.stem).suffix.lower()
    for entry in FORMATS:
        if entry.may_be_packed and inner in ("", *entry.suffixes):
            return entry
    raise ValueError(
        f"{path} contains a {inner} file, but only text files may be compressed by gzip. "
        "Decompress it."
    )


def _by_suffix(suffix):
    return next((entry for entry in FORMATS if suffix in entry.suffixes), None)
