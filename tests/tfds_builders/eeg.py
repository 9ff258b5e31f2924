"""Functions that make small pickles of EEG for tests.

The files in `dummy_data/` of `deap_eeg` come from these functions.
"""

import struct

import numpy as np

from tfds_builders.parsers import deap

VOLUNTEERS = ("s01", "s02", "s03", "s04", "s05")


def trials(seed=0, count=2, samples=448):
    """Returns signals (count, 40, samples) of whole numbers that repeat every 64 samples."""
    trial, channel, time = np.ogrid[:count, :40, :64]
    wave = (
        time * (channel + 2) + (time // 8) * (channel * channel + 7 * seed + 40 * trial)
    ) % 31 - 15
    return np.tile(wave, -(-samples // 64))[:, :, :samples].astype(np.float64)


def ratings(seed=0, count=2):
    """Returns ratings (count, 4) from 1 to 9. The first trial has a valence between 1 and 3."""
    trial, column = np.ogrid[:count, :4]
    return 1 + (seed + 5 * trial + 2 * column) % 9 * 0.99


def python2_pickle(arrays):
    """Returns the pickle that Python 2 writes for a dict of float64 arrays.

    Python 2 stores the bytes of the arrays as text.
    """
    out = b"\x80\x02}("
    for key, array in arrays.items():
        shape = b"".join(b"M" + struct.pack("<H", length) for length in array.shape)
        raw = np.ascontiguousarray(array, "<f8").tobytes()
        out += b"U" + bytes([len(key)]) + key.encode()
        out += b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\x01b\x87R"
        out += b"(K\x01(" + shape + b"tcnumpy\ndtype\nU\x02f8K\0K\x01\x87R"
        out += b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb\x89"
        out += b"T" + struct.pack("<I", len(raw)) + raw + b"tb"
    return out + b"u."


def deap_file(seed=0, count=2, samples=448):
    """Returns the file of one person of DEAP."""
    arrays = {"labels": ratings(seed, count), "data": trials(seed, count, samples)}
    return python2_pickle(arrays)


def deap_files(people=VOLUNTEERS, folder="data_preprocessed_python/"):
    """Returns the names and bytes of the files of a small DEAP archive."""
    return {f"{folder}{person}.dat": deap_file(seed=at) for at, person in enumerate(people)}


SMALL = {"labels": ratings(count=1), "data": trials(count=1, samples=deap.BASELINE + 1)}
