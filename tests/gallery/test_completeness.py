"""Tests of what a gallery says about the completeness of an enrollment."""

import contextlib
import sqlite3

import numpy as np
import pytest

from keras_dml import gallery as galleries
from keras_dml import zoo
from keras_dml.gallery import Gallery, Source
from keras_dml.gallery.completeness import completeness, recordings_needed
from keras_dml.gallery.sqlite import LATER

KEY = bytes(range(32))


def figures(*rates):
    return [
        {"protocol": protocol, "n": n, "metric": "eer", "value": value}
        for protocol, n, value in rates
    ]


def test_the_card_says_how_many_recordings_are_useful():
    two = figures(("verification", 1, 0.05), ("verification", 5, 0.03))
    three = [*two, *figures(("verification", 9, 0.025))]
    assert recordings_needed({"figures": three}) == 5
    flat = figures(("verification", 1, 0.035), ("verification", 5, 0.03))
    assert recordings_needed({"figures": flat}) == 1
    named = figures(
        ("1 run enrolled", 1, 0.11), ("3 runs enrolled", 1, 0.05), ("5 runs enrolled", 1, 0.045)
    )
    assert recordings_needed({"figures": named}) == 3
    assert recordings_needed({"figures": named + three}) == 5
    assert recordings_needed({"figures": figures(("verification", 1, 0.05))}) is None
    assert recordings_needed(None) is None


def test_the_number_is_unknown_while_the_error_still_falls():
    falling = figures(("verification", 1, 0.05), ("verification", 5, 0.03))
    flat = figures(("session", 1, 0.035), ("session", 5, 0.03))
    assert recordings_needed({"figures": flat}) == 1
    assert recordings_needed({"figures": falling}) is None
    assert recordings_needed({"figures": falling + flat}) is None
    state = completeness("alice", [Source(day) for day in "aaaab"], {"figures": falling})
    assert (state.needed, state.source, state.advice) == (None, None, "")
    assert "unknown" in str(state) and "complete" not in str(state)


def test_cards_of_walks_show_a_gain_up_to_the_largest_number():
    numbers = {name: recordings_needed(zoo.card(name)) for name in ("gait_lda", "watch_lda")}
    assert numbers == {"gait_lda": None, "watch_lda": None}


@pytest.mark.parametrize(
    ("days", "enrolled", "advice"),
    [
        ("a", None, "another day"),
        ("aaaaaa", None, "another day"),
        ("ab", None, "the model card shows little gain only above 5"),
        ("ab", 3, "calibrated with 3 per person"),
        ("aaaab", None, ""),
        ("aab", 3, ""),  # more than the calibration used would raise the false accept rate
    ],
)
def test_advice_ends_when_more_recordings_bring_little(days, enrolled, advice):
    rates = {1: 0.05, 5: 0.03, 9: 0.025}
    card = {"figures": figures(*(("verification", n, rate) for n, rate in rates.items()))}
    state = completeness("alice", [Source(day) for day in days], card, enrolled)
    assert advice in state.advice and bool(advice) == bool(state.advice)
    assert (state.recordings, state.days) == (len(days), tuple(sorted({*days})))


def test_a_gallery_knows_days_devices_and_cohesion(model, people, place):
    with Gallery(model=model, **place) as gallery:
        walks = people("alice", 3)
        gallery.enroll("alice", walks[:2], days=["2026-01-01", "2026-01-02"], devices="phone")
        gallery.enroll("alice", walks[2])
        state = gallery.completeness("alice")
        assert len(state.days) == 3 and state.devices == ("phone",) and state.advice == ""
        z = gallery._enrolled_of("alice")
        distances = gallery._model.distances(z, z) + np.diag([np.inf] * 3)
        assert state.cohesion == pytest.approx(distances.min(axis=1).mean())
        assert [each.source.device for each in gallery.list_recordings("alice")] == [
            *("phone", "phone"),
            "",
        ]
        with pytest.raises(KeyError, match="bob"):
            gallery.completeness("bob")
        for wrong in (["2026-01-01"], ["a", ""], ["a", "b\n"]):
            with pytest.raises(ValueError, match="days"):
                gallery.enroll("bob", walks[:2], days=wrong)


def test_a_merge_keeps_days_and_devices(model, people, tmp_path):
    with Gallery(tmp_path / "a.db", model) as first, Gallery(tmp_path / "b.db", model) as second:
        first.enroll("alice", people("alice", 2), days=["x", "y"], devices="watch")
        first.reject("alice", people("bob", 1))
        second.merge(first)
        sources = [each.source for each in second.list_recordings("alice")]
    assert sources == [Source("x", "watch"), Source("y", "watch")]


def changed(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    "statement", ["DELETE FROM sources", "UPDATE sources SET proposed = 1 - proposed"]
)
def test_the_seal_of_a_person_covers_the_sources(model, people, tmp_path, statement):
    path = tmp_path / "people.db"
    with Gallery(path, model, key=KEY) as gallery:
        gallery.enroll("alice", people("alice", 2), days="2026-01-01")
    changed(path, statement)
    with pytest.raises(ValueError, match="'alice' do not match the seal"):
        galleries.people(path, key=KEY)


@pytest.mark.parametrize("key", [None, KEY])
def test_a_gallery_of_version_2_opens_with_valid_seals(model, people, tmp_path, key):
    path = tmp_path / "people.db"
    with Gallery(path, model, key=key) as gallery:
        gallery.enroll("alice", people("alice", 2))
    assert LATER[2] == {"sources", "observations"}
    for table in LATER[2]:
        changed(path, f"DROP TABLE {table}")
    changed(path, "PRAGMA user_version = 2")
    with Gallery(path, model, key=key) as gallery:
        gallery.enroll("alice", people("alice", 1), days="2026-01-01")
        assert gallery.completeness("alice").recordings == 3
