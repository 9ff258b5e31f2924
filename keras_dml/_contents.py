"""Which recordings are the same."""

import hashlib

import numpy as np


def content(recording):
    """Digest of a recording, bytes: the same where shape and values, in float32, are.

    Args:
        recording: Array of any shape, or what makes one.
    """
    values = np.ascontiguousarray(recording, np.float32)
    return hashlib.sha256(values.tobytes() + str(values.shape).encode()).digest()
