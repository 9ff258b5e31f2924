"""Attempts with gallery files whose rows or bits were changed without the key.

The attempts write, swap, duplicate or delete rows. A changed gallery must cause an error, or make
the same decisions as before. An attacker who can write to an unencrypted gallery can write complete
templates. The attempts therefore change only the rows of encrypted galleries.
"""

import contextlib
import functools
import json
import pathlib
import sqlite3
import tempfile
import warnings

import numpy as np

from keras_dml import Gallery
from keras_dml._backend import keras
from keras_dml.layers import QuantileLayer
from tests.hostile import draws
from tests.hostile.checks import settle

KEY = bytes(range(32))
PEOPLE = ("alice", "ben", "cleo")
FAR = 0.1
OF_KEY = (
    "UPDATE thresholds SET far = 0.5",
    "UPDATE about SET value = '\"another.keras\"' WHERE name = 'model'",
    "UPDATE about SET value = '\"{zeros}\"' WHERE name = 'fingerprint'",
    "UPDATE about SET value = 'null' WHERE name = 'encryption'",
    "UPDATE people SET name = 'mallory' WHERE name = 'ben'",
    "UPDATE templates SET person = (SELECT id FROM people WHERE name = 'ben')",
    "UPDATE templates SET enrolled = 1 - enrolled",
    "UPDATE templates SET created = '2000-01-01T00:00:00+00:00'",
    "DELETE FROM templates WHERE id = (SELECT min(id) FROM templates)",
    "DELETE FROM people WHERE name = 'ben'",
    "DELETE FROM thresholds",
    "INSERT INTO templates SELECT max(id) + 1, person, enrolled, created, embedding FROM templates",
    "INSERT INTO people VALUES (77, 'mallory')",
)


def _model():
    signal = keras.Input((None, 3))
    head = QuantileLayer(6)(keras.layers.Identity()(signal))
    return keras.Model(signal, head, name="channels")


model = functools.cache(_model)


@functools.cache
def files():
    """Returns the bytes of an unencrypted and an encrypted gallery of three people."""
    made = {}
    for kind, key in (("plain", None), ("encrypted", KEY)):
        rng = np.random.default_rng(3)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "family.db")
            with Gallery(path, model(), key=key) as gallery:
                for level, person in enumerate(PEOPLE):
                    gallery.enroll(person, _recordings(rng, level, 5))
                others = [_recordings(rng, 5 + i, 3) for i in range(30)]
                gallery.calibrate(
                    [one for recordings in others for one in recordings],
                    np.repeat([f"v{i}" for i in range(30)], 3),
                    far=FAR,
                )
            made[kind] = path.read_bytes()
    return made


def _recordings(rng, level, count):
    return [rng.normal(3 * level, 1, (30, 3)) for _ in range(count)]


@functools.cache
def _probes():
    rng = np.random.default_rng(4)
    return [_recordings(rng, level, 1) for level in range(6)]


def _decisions(path, key):
    """Returns the decisions on all claims. In each claim, a test recording claims to be one of the
    enrolled people.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Gallery(path, model(), key=key) as gallery:
            return {
                (person, i): _is_accepted(gallery, person, probe)
                for person in gallery.people()
                for i, probe in enumerate(_probes())
            }


def _is_accepted(gallery, person, probe):
    try:
        return gallery.verify(person, probe, far=FAR).accepted
    except KeyError:  # a name without a template
        return False


@functools.cache
def _expected(kind):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "family.db")
        path.write_bytes(files()[kind])
        path.chmod(0o600)
        return _decisions(path, KEY if kind == "encrypted" else None)


def _settle(path, kind):
    key = KEY if kind == "encrypted" else None

    def check(decisions):
        changed = {
            claim for claim in decisions if decisions[claim] and not _expected(kind).get(claim)
        }
        assert not changed, f"accepted after the change: {changed}"

    return settle(lambda: _decisions(path, key), check)


def _copy(folder, kind):
    path = folder / "family.db"
    path.write_bytes(files()[kind])
    path.chmod(0o600)
    return path


def _statement(rng, database):
    """Draws an SQL statement that writes, swaps or duplicates rows."""
    kind = rng.integers(4)
    if kind == 0:
        value = draws.draw(rng, (1e30, 0.0, -1e30, 1e-300, 1e999))
        for (text,) in database.execute("SELECT found FROM thresholds").fetchall():
            text = json.dumps({**json.loads(text), "value": value})
            return "UPDATE thresholds SET found = ?", (text,)
    if kind == 1:
        ids = [row for (row,) in database.execute("SELECT id FROM templates")]
        one, other = rng.choice(ids, 2, replace=False).tolist()
        query = "UPDATE templates SET embedding = (SELECT embedding FROM templates WHERE id = ?)"
        return f"{query} WHERE id = ?", (one, other)
    return draws.draw(rng, OF_KEY).replace("{zeros}", 64 * "0"), ()


def rows(rng, folder):
    """Changes one to three rows of an encrypted gallery without the key."""
    path = _copy(folder, "encrypted")
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        for _ in range(rng.integers(1, 4)):
            with contextlib.suppress(sqlite3.IntegrityError):
                database.execute(*_statement(rng, database))
    return _settle(path, "encrypted")


def flips(rng, folder):
    """Flips bits in the templates (stored embeddings) of a gallery."""
    kind = draws.draw(rng, ("plain", "encrypted"))
    path = _copy(folder, kind)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        found = database.execute("SELECT id, embedding FROM templates").fetchall()
        row, blob = draws.draw(rng, found)
        blob = bytearray(blob)
        for _ in range(rng.integers(1, 5)):
            blob[rng.integers(len(blob))] ^= 1 << rng.integers(8)
        database.execute("UPDATE templates SET embedding = ? WHERE id = ?", (bytes(blob), row))
    return _settle(path, kind)


def damage(rng, folder):
    """Damages bytes of the file of a gallery."""
    kind = draws.draw(rng, ("plain", "encrypted"))
    path = folder / "family.db"
    path.write_bytes(draws.damaged(rng, files()[kind]))
    path.chmod(0o600)
    return _settle(path, kind)


def whole(rng, folder):
    """Opens an unchanged gallery, which must decide as before."""
    kind = draws.draw(rng, ("plain", "encrypted"))
    path, key = _copy(folder, kind), KEY if kind == "encrypted" else None

    def check(decisions):
        assert decisions == _expected(kind), "other decisions"

    return settle(lambda: _decisions(path, key), check, refuses=False)


KINDS = {
    "rows without the key": (60, rows),
    "flipped bits": (30, flips),
    "damaged bytes": (30, damage),
    "whole galleries": (2, whole),
}
