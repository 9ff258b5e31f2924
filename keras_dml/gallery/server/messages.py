"""Encodes the messages between the server and the processes that read files for the server.

A message consists of JSON and raw numbers. Messages contain no pickles, because unpickling can run
code. An attacker who takes over a process that reads files therefore cannot run code in the server.
"""

import json
import math
import pathlib
from typing import Any, BinaryIO

import numpy as np

from keras_dml._typing import Path
from keras_dml.recordings import Recording

READY = "ready"  # first line that a process writes after its imports
MOST_LINE = 2**24  # largest number of bytes per line
MOST_NUMBERS = 10**8  # largest number of numbers per piece
FIELDS = ("channels", "units", "notes", "left_out")


def write_line(stream: BinaryIO, value: Any) -> None:
    """Writes a value as a line of JSON."""
    stream.write(json.dumps(value).encode() + b"\n")
    stream.flush()


def read_line(stream: BinaryIO) -> Any:
    """Reads the value in the next line of JSON.

    Raises:
        EOFError: If the stream has ended.
        ValueError: If the line is not JSON.
    """
    line = stream.readline(MOST_LINE)
    if not line:
        raise EOFError
    return json.loads(line)


def write_pieces(stream: BinaryIO, pieces: list[Recording]) -> None:
    """Writes the pieces of a recording as a line of JSON, followed by the numbers of all pieces."""
    heads = [
        {name: getattr(piece, name) for name in FIELDS}
        | {"rate_hz": piece.rate_hz and float(piece.rate_hz), "shape": piece.values.shape}
        for piece in pieces
    ]
    write_line(stream, ["read", heads])
    for piece in pieces:
        stream.write(np.ascontiguousarray(piece.values, "<f4").data)
    stream.flush()


def read_pieces(stream: BinaryIO, heads: list[dict[str, Any]], path: Path) -> list[Recording]:
    """Reads the numbers in all pieces of a recording.

    Args:
        stream: The stream, after the line of JSON was read.
        heads: Descriptions of the pieces, as read from the line of JSON.
        path: Path of the file with the recording.

    Raises:
        EOFError: If the stream has ended.
        ValueError: If a piece has too many numbers.
    """
    pieces = []
    for head in heads:
        shape = tuple(head.pop("shape"))
        if min(shape) < 0 or math.prod(shape) > MOST_NUMBERS:
            raise ValueError(
                f"{path} holds an array of shape {shape}, which is too large. Send a shorter "
                "recording."
            )
        data = stream.read(4 * math.prod(shape))
        if len(data) < 4 * math.prod(shape):
            raise EOFError
        values = np.frombuffer(data, "<f4").reshape(shape).astype(np.float32)
        texts = {name: tuple(head[name]) for name in FIELDS}
        rate_hz = head["rate_hz"]
        pieces.append(Recording(pathlib.Path(path), values, rate_hz=rate_hz, **texts))
    return pieces
