"""Methods on groups of people: choices are made elsewhere, thresholds are carried over."""

import dataclasses

import numpy as np
import pytest

from keras_dml.training import trials
from keras_dml.training.own import across
from keras_dml.training.own.methods import Method


def group(rng, names, gap):
    """Trials of a group, genuine scores about 1 and others about 1 + gap."""
    probes = np.repeat(names, 6)
    distances = rng.normal(1, 0.3, (len(probes), len(names)))
    distances += gap * (probes[:, None] != np.array(names))
    return trials.against_gallery(distances, probes, names)


def scored(name, gaps, seed=0):
    rng = np.random.default_rng(seed)
    parts = [group(rng, [f"{i}{c}" for c in "abcd"], gap) for i, gap in enumerate(gaps)]
    return across.Scored(Method(name, name, name), tuple(parts), 0.0)


def test_the_method_of_a_group_is_the_best_on_the_others():
    first, second = scored("first", (9, 0.5, 0.5)), scored("second", (0, 2, 2))
    found = across.best_elsewhere([first, second])
    assert [one.method.name for one in found] == ["second", "first", "first"]
    joined = across.chosen_trials([first, second])
    np.testing.assert_array_equal(joined.scores[:96], second.parts[0].scores)
    np.testing.assert_array_equal(joined.scores[96:], first.joined.scores[96:])


def test_of_equal_methods_the_first_is_best():
    one, other = scored("one", (2, 2)), scored("other", (2, 2))
    assert across.best([one, other]) is one and across.best([other, one]) is other


def test_a_carried_threshold_keeps_its_rate_on_people_it_has_not_seen():
    one = scored("one", (1.5,) * 60)
    certified, rates = across.threshold(one, 0.05)
    value = certified.threshold
    assert rates.far == pytest.approx(0.05, abs=0.01) and rates.tar > 0.6
    assert (one.joined.scores[~one.joined.genuine] <= value).mean() <= 0.05
    assert certified.ci95[0] < 0.05 < certified.ci95[1] and certified.people == 240
    scaled = dataclasses.replace(
        one, parts=tuple(dataclasses.replace(p, scores=7 * p.scores) for p in one.parts)
    )
    again, same = across.threshold(scaled, 0.05)
    assert again.threshold == pytest.approx(7 * value) and same.far == rates.far


def test_a_threshold_that_people_do_not_show_is_none():
    assert across.threshold(scored("one", (1.5, 1.5)), 0.001) is None
    tied = scored("one", (1.5, 1.5))
    tied = dataclasses.replace(
        tied, parts=tuple(dataclasses.replace(p, scores=0 * p.scores) for p in tied.parts)
    )
    assert across.threshold(tied, 0.05) is None
