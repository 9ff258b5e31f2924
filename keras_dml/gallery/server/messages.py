"""Messages between the server and its processes that read files: JSON and plain numbers.

No message is pickled: a file that makes a library in such a process run code of an attacker must
not reach the server.
"""

import json
import math
import pathlib

import numpy as np

from keras_dml.recordings import Recording

READY = "ready"  # the first line of a process, after its imports
MOST_LINE = 2**24  # bytes
MOST_NUMBERS = 10**8  # of one answer
FIELDS = ("channels", "units", "notes", "left_out")


def write_line(stream, value):
    """Writes a value of JSON."""
    stream.write(json.dumps(value).encode() + b"\n")
    stream.flush()


def read_line(stream):
    """Returns the next value of JSON.

    Raises:
        EOFError: If the stream has ended.
        ValueError: If there is none.
    """
    line = stream.readline(MOST_LINE)
    if not line:
        raise EOFError
    return json.loads(line)


def write_pieces(stream, pieces):
    """Writes pieces of a recording."""
    heads = [
        {name: getattr(piece, name) for name in FIELDS}
        | {"rate_hz": piece.rate_hz and float(piece.rate_hz), "shape": piece.values.shape}
        for piece in pieces
    ]
    write_line(stream, ["read", heads])
    for piece in pieces:
        stream.write(np.ascontiguousarray(piece.values, "<f4").data)
    stream.flush()


def read_pieces(stream, heads, path):
    """Returns the pieces of a recording whose heads were read.

    Args:
        stream: Where their numbers follow.
        heads: What `write_pieces` wrote.
        path: The file.

    Raises:
        EOFError: If the stream has ended.
        ValueError: If they hold too many numbers.
    """
    pieces = []
    for head in heads:
        shape = tuple(head.pop("shape"))
        if min(shape) < 0 or math.prod(shape) > MOST_NUMBERS:
            raise ValueError(f"{path} holds {shape} numbers. Send a shorter recording.")
        data = stream.read(4 * math.prod(shape))
        if len(data) < 4 * math.prod(shape):
            raise EOFError
        values = np.frombuffer(data, "<f4").reshape(shape).astype(np.float32)
        texts = {name: tuple(head[name]) for name in FIELDS}
        rate_hz = head["rate_hz"]
        pieces.append(Recording(pathlib.Path(path), values, rate_hz=rate_hz, **texts))
    return pieces
