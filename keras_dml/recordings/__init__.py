"""Functions that read recordings from files (text, npy, Parquet, WAVE, FLAC), and list which
recordings belong to which people.

`read` returns the values in one file, shape `(time, channels)`, together with the names of the
channels and the sampling rate. `read_pieces` also cuts a recording at gaps. `folder` lists the
recordings in a folder with one subfolder per person. `groups` reads the group of each person from a
table. The functions in this package do not import Keras or a backend.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
