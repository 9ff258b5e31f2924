"""Recordings in files (text, npy, parquet, wav, flac), and folders of recordings by person.

`read` returns the numbers of one file, shape `(time, channels)`, with the names of its channels and
its rate. `read_pieces` cuts a recording at its gaps. `folder` lists the files of people, and
`groups` reads the group of each person. None of them loads a backend.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
