"""Registry of the formats of recordings.

A new format needs a module with a function that reads it, and an entry in `FORMATS`. Help texts,
pages, errors and the server ask this registry. It imports the module of a format when a file of the
format is read.
"""

import contextlib
import dataclasses
import importlib
import os
import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # help texts need no NumPy
    from keras_dml._typing import Path
    from keras_dml.recordings._read import Options
    from keras_dml.recordings._recording import Signal

PACKED = ".gz"  # the suffix of text that is packed by gzip
LIBRARIES = ("keras_dml.recordings._read", "scipy.interpolate", "scipy.signal")  # of all formats
HINTS = {  # what to do with files of other formats, by their suffix
    ".asc": "Write a sample report by EyeLink Data Viewer",
    ".xlsx": "Save the sheet as CSV",
    ".xls": "Save the sheet as CSV",
}


@dataclasses.dataclass(frozen=True)
class Format:
    """A format of files.

    The function that reads a file keeps the bounds of `_bounds` on its decoded content.

    Attributes:
        name: Name in help texts.
        suffixes: Ends of the names of files, in lower case.
        reader: Module and name of a function `read(path, options)` that returns `(signal,
            resolution)`: a `Signal`, and the seconds between two times that the clock of the file
            separates.
        detector: Module and name of a function `is_recording(path)` that decides whether a file in
            a folder is a recording. None: the suffix decides.
        libraries: Modules outside this package that the reader imports, or that its libraries
            import if they are installed, such as pandas by PyArrow.
        may_be_packed: Whether files packed by gzip are read.
    """

    name: str
    suffixes: tuple[str, ...]
    reader: str
    detector: str | None = None
    libraries: tuple[str, ...] = ()
    may_be_packed: bool = False

    def read(self, path: pathlib.Path, options: "Options") -> "tuple[Signal, float]":
        """Reads a file."""
        return _load(self.reader)(path, options)

    def is_recording(self, path: pathlib.Path) -> bool:
        """Returns whether a file with a suffix of this format is a recording."""
        return self.detector is None or _load(self.detector)(path)

    def import_libraries(self) -> None:
        """Imports everything that `read` needs and that is installed."""
        _load(self.reader)
        for name in self.libraries:
            with contextlib.suppress(ImportError, OSError):  # OSError: without libsndfile
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
    """Returns a function of this package by the names of its module and its own name."""
    module, _, name = place.partition(".")
    return getattr(importlib.import_module(f"keras_dml.recordings.{module}"), name)


def suffixes() -> tuple[str, ...]:
    """Returns the ends of the names of files that `read` reads, in lower case."""
    return (*(suffix for entry in FORMATS for suffix in entry.suffixes), PACKED)


def format_names() -> str:
    """Returns the names of all formats for help texts: `"csv, npy, ... or flac"`."""
    *names, last = (entry.name for entry in FORMATS)
    return f"{', '.join(names)} or {last}"


def import_libraries() -> None:
    """Imports all libraries that `read` may need, so that later calls spend no time on imports."""
    for entry in FORMATS:
        entry.import_libraries()
    for name in LIBRARIES:
        importlib.import_module(name)


def is_recording(path: "Path") -> bool:
    """Returns whether a file in a folder is a recording, by the end of its name.

    A `.txt` file is a recording if it has rows of numbers, because folders may hold notes as text.
    """
    path = pathlib.Path(path)
    suffix = path.suffix.lower()
    entry = _by_suffix(suffix)
    return suffix == PACKED or (entry is not None and entry.is_recording(path))


def check_file(path: "Path") -> None:
    """Checks that a file exists and ends in a suffix that `read` reads. Nothing is read.

    Args:
        path: The file.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If it is a folder or of another format.
    """
    format_of(pathlib.Path(path))


def format_of(path: pathlib.Path) -> Format:
    """Returns the format of a file, after the checks of `check_file`."""
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
    raise ValueError(f"{path} packs a {inner} file, but only packed text is read. Unpack it.")


def _by_suffix(suffix):
    return next((entry for entry in FORMATS if suffix in entry.suffixes), None)
