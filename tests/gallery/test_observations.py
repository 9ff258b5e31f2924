"""Tests of recordings that are kept for a limited time, with embeddings instead of recordings."""

import contextlib
import sqlite3

import numpy as np
import pytest

from keras_dml.gallery import observations as observations_module
from tests.gallery import kept


@pytest.fixture
def gallery(tmp_path):
    """A gallery that keeps a proposal for Alice and three recordings of two strangers."""
    with kept.gallery(tmp_path / "family.db") as gallery:
        yield gallery


@pytest.fixture
def inbox(gallery):
    return gallery.strangers._observations


def test_a_longer_time_of_an_earlier_release_is_bounded(gallery, inbox):
    gallery._records.replace_fact(observations_module.KEEPING, {"strangers": 1e12})
    assert inbox.days == observations_module.MOST_DAYS
    inbox.add(inbox.list()[0].embedding[None] + 1)
    assert len(inbox.list()) == 4


def content(gallery):
    return b"".join(file.read_bytes() for file in gallery.path.parent.iterdir())


def ciphertexts(gallery):
    with contextlib.closing(sqlite3.connect(gallery.path)) as connection:
        query = "SELECT embedding FROM observations WHERE person IS NULL ORDER BY id"
        return [blob for (blob,) in connection.execute(query)]


def new_embedding(inbox, shift):
    """Returns an embedding that the gallery does not contain, shape `(1, numbers)`."""
    return np.float32(inbox.list()[0].embedding[None] + shift)


def test_an_evicted_recording_leaves_no_byte(gallery, inbox, monkeypatch):
    monkeypatch.setitem(observations_module.MOST, "strangers", 3)
    oldest, *_ = ciphertexts(gallery)
    assert oldest[:16] in content(gallery)
    inbox.add(new_embedding(inbox, 1))
    assert len(inbox.list()) == 3 and oldest[:16] not in content(gallery)


def test_a_later_call_cuts_the_log_that_another_reader_used(gallery, inbox, monkeypatch):
    monkeypatch.setitem(observations_module.MOST, "strangers", 3)
    oldest, *_ = ciphertexts(gallery)
    embedding = new_embedding(inbox, 1)
    with contextlib.closing(sqlite3.connect(gallery.path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM observations").fetchone()
        inbox.add(embedding)
        assert oldest[:16] in content(gallery) and oldest not in ciphertexts(gallery)
        reader.execute("ROLLBACK")
    inbox.list()
    assert oldest[:16] not in content(gallery)
