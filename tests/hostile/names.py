"""Attempts to control the terminal with names of people and paths that commands print."""

import contextlib
import functools
import io
import sqlite3

import numpy as np

from keras_dml import Gallery, cli
from keras_dml._backend import keras
from keras_dml.layers import QuantileLayer
from tests.hostile import draws
from tests.hostile.checks import Verdict, Wrong, settle

PARTS = ("\n", "\r", "\t", "\x1b[2J", "\x1b]0;title\x07", "\x08", "\x7f", "\x85", "\x9b31m")
PARTS += ("\u2028", "\u2029", "\u202e", "\u2066", "\u200f", "\ufeff", "\ud800", "[bold]", "[/]")
FORGED = "mallory     9"
URLS = ("postgresql://[", "postgres://u:p@[::1/x", "postgresql://a]b", "http://[::1", "file://x")
URLS += ("postgresql://h:99999999/x", "postgresql://\x1b[2J/x", "sqlite:///x\ny", "://", "a://\n")


@functools.cache
def family():
    """Returns the bytes of the file of a gallery with two people."""
    import pathlib
    import tempfile

    signal = keras.Input((None, 3))
    head = QuantileLayer(6)(keras.layers.Identity()(signal))
    model = keras.Model(signal, head, name="channels")
    rng = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "family.db")
        with Gallery(path, model) as gallery:
            for level, person in enumerate(("alice", "ben")):
                gallery.enroll(person, [rng.normal(9 * level, 1, (30, 3)) for _ in range(4)])
        return path.read_bytes()


def printed(*words):
    """Runs a command. Returns the exit status and the standard output."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            cli.main([str(word) for word in words])
            status = 0
        except SystemExit as end:
            status = end.code or 0
    return status, out.getvalue()


def check_printed(text):
    """Checks that no name controls the terminal or imitates another line of the output."""
    for line in text.splitlines():
        if not line.isprintable():
            raise Wrong(f"control characters in {line!r}")
        if line.strip().split() == FORGED.split():
            raise Wrong("a name prints a line of its own")


def _hostile(rng):
    parts = [draws.draw(rng, PARTS) for _ in range(rng.integers(1, 4))]
    return f"eve{''.join(parts)}\n{FORGED}"


def people(rng, folder):
    """Prints a name from an untrusted gallery, which must be on one line and escaped."""
    path = folder / "family.db"
    path.write_bytes(family())
    path.chmod(0o600)
    name = _hostile(rng).encode("utf-8", "replace").decode()
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE people SET name = ? WHERE name = 'ben'", (name,))
    status, text = printed("people", path)
    check_printed(text)
    if status not in (0, 2):
        raise Wrong(f"exit status {status}")
    return Verdict.REFUSED if status else Verdict.ANSWERED


def enrolled(rng, folder):
    """Gives a person a name that is not printable."""
    path = folder / "family.db"
    path.write_bytes(family())
    path.chmod(0o600)
    from keras_dml import gallery

    return settle(lambda: gallery.rename(path, "ben", _hostile(rng)), refuses=True)


def about(rng, folder):
    """Truncates, nests or removes metadata of a gallery, or replaces the metadata by values of
    another type.
    """
    path = folder / "family.db"
    path.write_bytes(family())
    path.chmod(0o600)
    name = draws.draw(rng, ("model", "fingerprint"))
    value = draws.draw(rng, ("", "{", "null", "[]", "1e999", draws.DEEP, '"', "NaN", None))
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        if value is None:
            database.execute("DELETE FROM about WHERE name = ?", (name,))
        else:
            database.execute("UPDATE about SET value = ? WHERE name = ?", (value, name))
    from keras_dml import gallery

    def check(info):
        raise AssertionError(f"{info!r}")

    return settle(lambda: gallery.info(path), check, refuses=True)


def places(rng, folder):
    """Opens paths and URLs of galleries that do not exist."""
    from keras_dml import gallery

    path = draws.draw(rng, (*URLS, f"{folder}/{_hostile(rng)}.db".encode("utf-8", "replace")))
    path = path if isinstance(path, str) else path.decode()
    try:
        gallery.people(path)
    except (OSError, ValueError, ImportError) as error:
        if "\n" in str(error) and "\n" not in path or len(str(error)) < 20:
            raise Wrong(f"an error without a sentence, {error!r}") from error
        status, text = printed("people", path)
        check_printed(text)
        return Verdict.REFUSED
    raise Wrong("a gallery that does not exist was opened")


KINDS = {
    "names of people": (40, people),
    "names to enroll": (20, enrolled),
    "what a gallery says of itself": (30, about),
    "places of galleries": (20, places),
}
