"""Attempts to read recordings with damaged bytes, unusual names and cells, or huge content."""

import functools
import io

import numpy as np

from keras_dml import recordings
from tests.hostile import bombs, draws
from tests.hostile.checks import Wrong, settle

STEPS = 40
CONTROLS = ("\x1b[2J", "\x07", "\r", "\x00", "\x85", "\x9b31m", "\u202e", "\u2066", "\u2028")
CONTROLS += ("\u2029", "\ud83d", "[bold]", "{0}", "%s", "=cmd|' /C calc'!A1", "../x", 1000 * "x")
CELLS = ("1_0", "0x10", "1e999", "-inf", "١٢", "1,5", "1 234", "TRUE", "#DIV/0!", "1/2", "")
CELLS += (300 * "9", "1" + 5000 * "0", "2026-13-40", "25:61:61", '"', "'", "=1+1", "1;2", "\t")
SMALLEST, LARGEST = 10**5, bombs.SIZE


@functools.cache
def _valid_files():
    """Returns a valid file of each format, `{suffix: bytes}`."""
    import pyarrow
    import soundfile
    from pyarrow import parquet

    rng = np.random.default_rng(3)
    values = rng.normal(size=(STEPS, 3)).astype(np.float32)
    rows = "".join(f"{i / 50:.2f},{x:.6g},{y:.6g},{z:.6g}\n" for i, (x, y, z) in enumerate(values))
    npy, columns, wav, flac = (io.BytesIO() for _ in range(4))
    np.save(npy, values)
    parquet.write_table(pyarrow.table(dict(zip("xyz", values.T, strict=True))), columns)
    pcm = rng.integers(-999, 999, STEPS).astype(np.int16)
    soundfile.write(wav, pcm, 8000, format="WAV")
    soundfile.write(flac, pcm, 8000, format="FLAC")
    return {
        ".csv": f"time,x (g),y (g),z (g)\n{rows}".encode(),
        ".npy": npy.getvalue(),
        ".parquet": columns.getvalue(),
        ".wav": wav.getvalue(),
        ".flac": flac.getvalue(),
    }


def _check(recording):
    values = recording.values
    assert values.dtype == np.float32 and values.ndim == 2, "other numbers than float32"
    assert len(values) and np.isfinite(values).all(), "no finite numbers"
    assert values.shape[1] == len(recording.channels) == len(recording.units), "other channels"
    for text in (*recording.notes, *filter(None, recording.units)):
        assert text.isprintable(), f"a note or a unit with control characters, {text!r}"


def _read(folder, name, data, **rules):
    path = folder / name
    path.write_bytes(data)
    return settle(lambda: recordings.read(path), _check, names=(name,), **rules)


def damage(rng, folder):
    """Reads a damaged file of any format."""
    suffix = draws.draw(rng, list(_valid_files()))
    return _read(folder, f"walk{suffix}", draws.damaged(rng, _valid_files()[suffix]))


def whole(rng, folder):
    """Reads a valid file of any format."""
    suffix = draws.draw(rng, list(_valid_files()))
    return _read(folder, f"walk{suffix}", _valid_files()[suffix], refuses=False)


def columns(rng, folder):
    """Reads a csv file with control characters and markup in the names of columns."""
    names = [f"x{draws.draw(rng, CONTROLS)}{i}" for i in range(3)]
    delimiter = draws.draw(rng, ",;\t")
    rows = [delimiter.join(f"{x:.4g}" for x in row) for row in rng.normal(size=(STEPS, 3))]
    if rng.random() < 0.5:
        rows[int(rng.integers(STEPS))] = delimiter.join(draws.draw(rng, CONTROLS) for _ in "xyz")
    text = "\n".join([delimiter.join(names), *rows, ""])
    return _read(folder, "walk.csv", text.encode("utf-8", "replace"))


def cells(rng, folder):
    """Reads a csv file with cells that are almost numbers."""
    rows = [[f"{x:.4g}" for x in row] for row in rng.normal(size=(STEPS, 3))]
    for _ in range(rng.integers(1, 30)):
        rows[int(rng.integers(STEPS))][int(rng.integers(3))] = draws.draw(rng, CELLS)
    text = "\n".join(["x,y,z", *(",".join(row) for row in rows), ""])
    return _read(folder, "walk.csv", text.encode())


def large(rng, folder):
    """Reads a file that needs much memory or time for its size, in another process."""
    kind, name = draws.draw(rng, list(bombs.FILES))
    size = round(SMALLEST * (LARGEST / SMALLEST) ** rng.random())
    path = bombs.write(folder, kind, name, size)
    used = bombs.measure(path)
    path.unlink()
    if used["end"].startswith("!!"):
        raise Wrong(f"{name}, {size:,} bytes: {used['end']}")
    if used["MB"] > bombs.MOST_MB or used["s"] > bombs.MOST_SECONDS:
        raise Wrong(f"{name}, {size:,} bytes: {used['MB']:.0f} MB and {used['s']:.1f} s")

    def call():
        if not used["end"].startswith("read "):
            raise ValueError(used["end"])

    return settle(call, lambda _: None, speakers=(__file__,))


KINDS = {
    "damaged bytes": (300, damage),
    "whole files": (10, whole),
    "odd names of columns": (100, columns),
    "odd cells": (100, cells),
    "a large file": (24, large),
}
