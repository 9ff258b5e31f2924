"""Recordings in files (text, npy, parquet, wav, flac), and folders of recordings by person.

`read` returns the numbers of one file, shape `(time, channels)`, with the names of its channels and
its rate. `read_pieces` cuts a recording at its gaps. `folder` lists the files of people, and
`groups` reads the group of each person. None of them loads a backend.
"""

from keras_dml import _lazy

_HOME = {
    "Listed": "_people",
    "Listing": "_people",
    "Recording": "_recording",
    "UnevenTimesError": "_times",
    "check_file": "_formats",
    "convert": "_units",
    "folder": "_people",
    "format_names": "_formats",
    "groups": "_people",
    "import_libraries": "_formats",
    "is_recording": "_formats",
    "is_same_rate": "_times",
    "read": "_read",
    "read_pieces": "_read",
    "suffixes": "_formats",
}

__all__ = [*_HOME]
__getattr__, __dir__ = _lazy.attach(__name__, _HOME)
