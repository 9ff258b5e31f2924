"""Reads recordings from files (text, npy, Parquet, WAVE, FLAC) and lists the recordings of people.

`read` returns the values of one file, shape `(time, channels)`, with the names of the channels and
the sampling rate. `read_pieces` cuts a recording at gaps. `folder` lists the recordings of people
in a folder, and `groups` reads the group of each person from a table. These functions do not import
Keras or a backend.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
