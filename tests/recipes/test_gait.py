"""Tests the data of the gait recipes, and the table of their search for settings."""

import numpy as np
import pytest
import typer

from keras_dml.training import People
from zoo import gait
from zoo.gait_qp_wl import search, train


def walk(person, trial, steps=1000):
    return np.full((steps, 6), 10 * int(person) + trial, np.float32)


def people(*names):
    return People(
        [walk(one, trial) for one in names for trial in (1, 2)],
        [one for one in names for _ in range(2)],
        [1, 2] * len(names),
    )


def test_right_feet_are_people_of_their_own(monkeypatch):
    monkeypatch.setattr(
        gait, "walks", lambda split, foot: people(*{"train": "12", "validation": "3"}[split])
    )
    both = gait.both_feet()
    assert sorted(set(both.subjects)) == ["1", "1 right", "2", "2 right", "3", "3 right"]
    assert set(gait.left_feet(both).subjects) == {"1", "2", "3"}


def test_a_mirrored_right_foot_moves_as_a_left_one(rng):
    """Tests that the acceleration along y and the rates about x and z change their signs."""
    signal = rng.normal(size=(9, 6))
    found = gait.mirrored(People([signal, signal], ["1", "1 right"], [1, 1]))
    np.testing.assert_array_equal(found.signals[0], signal)
    reflection = np.diag([1.0, -1, 1])
    np.testing.assert_array_equal(found.signals[1][:, :3], signal[:, :3] @ reflection)
    about = np.linalg.det(reflection) * signal[:, 3:] @ reflection
    np.testing.assert_array_equal(found.signals[1][:, 3:], about)


def test_a_walk_becomes_two_parts_that_overlap():
    signals = [np.arange(steps, dtype=float)[:, None] for steps in (2000, 600)]
    parts = train.overlapping_parts(People(signals, ["1", "2"], [1, 1]))
    spans = [(part[0, 0], part[-1, 0]) for part in parts.signals]
    assert spans == [(0, 1199), (800, 1999), (0, 511), (88, 599)]
    assert parts.subjects == ["1", "1", "2", "2"]


def test_variations_keep_pairs_alike(rng):
    settings = train.Settings(mix=0.5, degrees=0, gain=0, noise=0)
    batch = np.repeat(rng.normal(size=(4, 30, 6)), 2, axis=0)
    varied = train.vary(batch, rng, settings, np.ones(6))
    np.testing.assert_allclose(varied[::2], varied[1::2], rtol=0, atol=1e-12)
    assert np.abs(varied - batch).max() > 0.1


def test_a_search_measures_across_trials_and_by_the_papers_protocol(rng):
    subjects = np.repeat(np.arange(8), 12)
    points = 9.0 * subjects[:, None] + rng.normal(size=(96, 1))
    windows = People([], subjects.tolist(), np.tile(np.repeat([1, 2], 6), 8).tolist())
    found = search.figures(np.abs(points - points.T), windows)
    assert set(found) == {"pooled", "single pairs", "paper"}
    assert max(found.values()) < 0.01
    worse = search.figures(rng.random((96, 96)), windows)
    assert min(worse.values()) > 0.3


def line(variant, fold, value, method="qp_wl"):
    figures = {"pooled": value, "paper": 2 * value}
    run = {"method": method, "steps": 600, "variant": variant, "fold": fold, "seed": 0}
    return {**run, "figures": figures}


def test_a_table_shows_paired_changes():
    lines = [line("", 0, 0.04), line("", 1, 0.06), line("x", 0, 0.03), line("x", 1, 0.06)]
    found = search.table([*lines, line("x", 0, 0.5, "qp_npl")])
    assert found["method"] == ["qp_wl", "qp_wl", "qp_npl"] and found["runs"] == [2, 2, 1]
    assert found["pooled EER"] == pytest.approx([0.05, 0.045, 0.5])
    assert found["pooled change"] == [0, pytest.approx(-0.005), None]
    assert found["paper change"] == [0, pytest.approx(-0.01), None]


def test_every_variant_changes_the_settings():
    names = set(vars(train.Settings()))
    assert search.VARIANTS[""] == {}
    for own in (search.VARIANTS, *search.OWN.values()):
        for changes in own.values():
            assert set(changes) <= names


@pytest.mark.parametrize("given", [{"method": ["qp"]}, {"variant": ["lr"]}, {"fold": [3]}])
def test_a_search_for_what_is_not_there_is_refused(given, tmp_path):
    with pytest.raises(typer.BadParameter, match="must be one of"):
        search.main(out=tmp_path / "runs.jsonl", count=3, **given)
    assert not list(tmp_path.iterdir())
