"""Tests of recordings that are kept for a limited time, with embeddings instead of recordings."""

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
