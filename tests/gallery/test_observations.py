"""Tests of recordings that are kept for a limited time, with embeddings instead of recordings."""

import asyncio
import contextlib
import datetime
import sqlite3

import numpy as np
import pytest

from keras_dml.gallery import observations as observations_module
from keras_dml.gallery.server import handlers
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


@pytest.fixture
def later(monkeypatch):
    """Returns a function that moves the clock of the observations forward by a number of days."""

    def move(days):
        time = observations_module.now() + datetime.timedelta(days=days)
        monkeypatch.setattr(observations_module, "now", lambda: time)

    return move


def test_a_new_recording_destroys_expired_ones(gallery, inbox, later):
    expired, embedding = ciphertexts(gallery), new_embedding(inbox, 1)
    later(8)
    inbox.add(embedding)
    (left,) = ciphertexts(gallery)
    assert len(expired) == 3 and left not in expired
    assert not any(ciphertext[:16] in content(gallery) for ciphertext in expired)


def test_a_server_destroys_expired_recordings_without_requests(gallery, later, monkeypatch):
    monkeypatch.setattr(handlers, "DROP_SECONDS", 0.1)
    monkeypatch.setattr(handlers.Readers, "start", lambda _: None)
    monkeypatch.setattr(handlers.Readers, "end", lambda _: None)
    served = handlers.Handlers(gallery, None, False, None)

    async def serve():
        async with served.open(None), asyncio.timeout(60):
            while ciphertexts(gallery):
                await asyncio.sleep(0.01)

    later(8)
    asyncio.run(serve())
    assert ciphertexts(gallery) == []


def test_a_recording_is_kept_once(inbox):
    embedding = new_embedding(inbox, 1)
    inbox.add(np.concatenate([embedding, embedding]))
    inbox.add(embedding)
    assert len(inbox.list()) == 4


def test_an_enrolled_recording_is_not_added_again(gallery):
    (proposal,) = gallery.proposals._observations.list()
    gallery.proposals.accept(proposal.id)
    gallery.proposals._observations.add(proposal.embedding[None], "alice")
    result = gallery.proposals.accept(proposal.id)
    assert (result.kept, result.repeated, result.enrolled) == ((), {0: None}, 2)
    assert gallery.proposals.list() == ()
