"""Recordings in files (text, npy, parquet, wav, flac), and folders of them by person.

`read` returns one file as numbers `(time, channels)` with the names of its channels and its rate,
and `read_pieces` cuts it at its gaps;
`folder` lists the files of people, `groups` the group of each. None loads a backend.
"""

from keras_dml import _lazy

_HOME = {
    "Listed": "_folder",
    "Listing": "_folder",
    "Recording": "_recording",
    "UnevenTimesError": "_times",
    "check_file": "_read",
    "convert": "_units",
    "folder": "_folder",
    "groups": "_groups",
    "is_recording": "_read",
    "is_same_rate": "_times",
    "read": "_read",
    "read_pieces": "_read",
    "suffixes": "_read",
}

__all__ = [*_HOME]
__getattr__, __dir__ = _lazy.attach(__name__, _HOME)
