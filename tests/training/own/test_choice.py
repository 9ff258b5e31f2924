"""Tests that the method for a group is chosen by models that were not trained on this group."""

import dataclasses
import functools
import itertools
import math

import numpy as np
import pytest

from keras_dml import evaluation, inference, scoring
from keras_dml._backend import keras
from keras_dml.gallery.keras_model import KerasModel
from keras_dml.training import People, trials
from keras_dml.training.own import _train, cross_validation, sequences, task
from keras_dml.training.own.methods import Method
from tests.training.own.conftest import recordings_of
from tests.training.own.scores import scored
from tests.training.own.test_task import SMALL


def names_of(methods):
    return [one.method.name for one in cross_validation.choose_per_group(methods)]


@pytest.mark.parametrize("groups", [3, 4, 5])
def test_groups_are_paired_with_all_others_or_with_two_for_networks(groups):
    closed, network = (
        cross_validation.nested_pairs(groups, False),
        cross_validation.nested_pairs(groups, True),
    )
    assert len(closed) == groups * (groups - 1) / 2 and set(network) <= set(closed)
    assert len(network) == groups
    counts = np.bincount(np.ravel(network), minlength=groups)
    assert (counts == 2).all()


def test_two_groups_give_no_nested_pairs():
    assert cross_validation.nested_pairs(2, False) == cross_validation.nested_pairs(2, True) == []


def test_the_method_of_a_group_is_best_by_models_without_it():
    """The second method is better only if its models were trained on the measured group."""
    pairs = list(itertools.permutations(range(3), 2))
    first = scored("first", (1, 1, 1), dict.fromkeys(pairs, 1))
    second = scored("second", (9, 9, 9), dict.fromkeys(pairs, 0.5))
    assert names_of([first, second]) == names_of([second, first]) == ["first"] * 3
    assert cross_validation.best_method([first, second]) is second
    joined = cross_validation.chosen_trials([first, second])
    np.testing.assert_array_equal(joined.scores, first.trials.scores)


def test_a_network_is_compared_on_the_groups_that_it_is_measured_on():
    """If group 0 is left out, the network has figures for groups 1 and 3 only. On these two groups,
    the network is better than the closed-form method.
    """
    pairs = itertools.permutations(range(4), 2)
    closed = scored("lda", (1,) * 4, {(i, j): 2 - i % 2 for i, j in pairs})
    ring = [each for pair in cross_validation.nested_pairs(4, True) for each in (pair, pair[::-1])]
    network = scored("qp_wl", (1,) * 4, {pair: 1.5 for pair in ring}, learner=print)
    assert sorted(network.without(0)) == [1, 3] and sorted(closed.without(0)) == [1, 2, 3]
    assert names_of([closed, network]) == ["qp_wl", "lda", "qp_wl", "lda"]


def test_with_two_groups_each_method_is_chosen_on_the_other_group():
    first, second = scored("first", (9, 0.5)), scored("second", (0, 2))
    assert names_of([first, second]) == ["second", "first"]
    joined = cross_validation.chosen_trials([first, second])
    np.testing.assert_array_equal(joined.scores[:96], second.parts[0].scores)
    text = cross_validation.describe_choice([first, second])
    assert "that was trained on people of the first group" in text
    assert "With 6 people or more" in text
    assert "second in 1, first in 1" in text


def test_the_first_of_equal_methods_is_best():
    one, other = scored("one", (2, 2)), scored("other", (2, 2))
    assert (
        cross_validation.best_method([one, other]) is one
        and cross_validation.best_method([other, one]) is other
    )


def test_models_that_choose_for_a_group_saw_nobody_of_it():
    """Each model records its people, who must not be among the people measured by this model."""
    signals, subjects = recordings_of(7)
    people = task.split_sides(People(signals, subjects, [1] * len(signals)))[0]
    groups, knew = cross_validation.split_into_groups(SMALL, people), []
    closed = Method("closed", "a method", "none", lambda task, known: _noting(knew, known))
    found, *_ = _train._evaluate(SMALL, people, groups, closed, lambda: math.inf)
    own = [set(group.subjects) for group in groups]
    assert [set(part.probes) for part in found.parts] == own
    everybody = set(subjects)
    alone, in_pairs = [everybody - one for one in own], cross_validation.nested_pairs(3, False)
    assert knew == alone + [everybody - own[i] - own[j] for i, j in in_pairs]
    assert set(found.nested) == {*in_pairs, *(pair[::-1] for pair in in_pairs)}
    for (i, _), part in found.nested.items():
        assert set(part.probes) == set(part.claims) == own[i]


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "pairs"), [(math.inf, 6), (0, 4)])
def test_a_slow_closed_form_uses_two_pairs_per_group(seconds, pairs):
    signals, subjects = recordings_of(8)
    people = task.split_sides(People(signals, subjects, [1] * len(signals)))[0]
    closed = Method("closed", "a method", "none", lambda task, known: _noting([], known))
    groups = cross_validation.split_into_groups(SMALL, people)
    found, *_ = _train._evaluate(SMALL, people, groups, closed, lambda: seconds)
    assert len(found.parts) == 4 and len(found.nested) == 2 * pairs


def test_a_shared_model_embeds_each_window_once(monkeypatch):
    """All groups of people share one voice encoder. If each group had its own encoder, the figures
    would be the same.
    """
    signals, subjects = recordings_of(6)
    people = task.split_sides(People(signals, subjects, [1] * len(signals)))[0]
    groups, embedded = cross_validation.split_into_groups(SMALL, people), []
    shared = sequences.log_euclidean(SMALL, people, in_frame=False)
    embed = inference.embed

    def counted(model, windows, **options):
        embedded.extend(window.tobytes() for window in windows)
        return embed(model, windows, **options)

    monkeypatch.setattr(cross_validation.inference, "embed", counted)

    def found(model):
        method = Method("ready", "a method", "none", lambda task, known: model())
        return _train._evaluate(SMALL, people, groups, method, lambda: math.inf)

    once = found(lambda: shared)
    count = len(embedded)
    assert len(set(embedded)) == count
    again = found(lambda: keras.Model(shared.input, shared.output))
    assert len(embedded) - count > 3 * count
    assert len(once) == len(again) == len(scoring.SCORINGS)
    for first, second in zip(once, again, strict=True):
        for one, other in zip(
            [*first.parts, *first.nested.values()],
            [*second.parts, *second.nested.values()],
            strict=True,
        ):
            np.testing.assert_allclose(one.scores, other.scores, rtol=1e-4, atol=1e-4)


def test_scorings_are_compared_on_the_same_trials():
    """Tests the scores of `mean` and `two_covariance` against a model with the fitted layer."""
    signals, subjects = recordings_of(6)
    people = task.split_sides(People(signals, subjects, [1] * len(signals)))[0]
    groups = cross_validation.split_into_groups(SMALL, people)
    closed = Method(
        "closed", "a method", "none", functools.partial(sequences.log_euclidean, in_frame=False)
    )
    evaluations = _train._evaluate(SMALL, people, groups, closed, lambda: math.inf)
    assert [each.method.scoring for each in evaluations] == [*scoring.SCORINGS]
    assert [each.method.base for each in evaluations] == ["closed"] * 3
    nearest, *others = (each.trials for each in evaluations)
    for each in others:
        np.testing.assert_array_equal(each.probes, nearest.probes)
        np.testing.assert_array_equal(each.claims, nearest.claims)
        np.testing.assert_array_equal(each.enrolled, nearest.enrolled)
        assert evaluation.verification(each.scores, each.genuine).auc > 0.6
    rest = cross_validation.without_groups(people, groups[:1])
    model = evaluations[2].method.model(SMALL, rest)
    expected = trials.by_scoring(
        scoring.get("two_covariance"),
        KerasModel(model),
        inference.embed(model, groups[0].signals, progress=False),
        groups[0],
    )
    actual = evaluations[2].parts[0].scores
    np.testing.assert_allclose(actual, expected.scores, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize(("scale", "offset"), [(1000.0, -2.0), (0.01, 5.0)])
def test_scores_of_different_scorings_are_aligned_on_the_other_groups(scale, offset):
    """Tests that the unit and the zero of a scoring do not change the headline."""
    first, second = scored("first", (2, 0.5, 2)), scored("second", (0.5, 2, 0.5))

    def with_unit(scale, offset):
        parts = [dataclasses.replace(x, scores=scale * (x.scores + offset)) for x in second.parts]
        method = dataclasses.replace(second.method, scoring="two_covariance")
        other = dataclasses.replace(second, parts=tuple(parts), method=method)
        return cross_validation.chosen_trials([first, other]).scores

    assert len({*names_of([first, second])}) == 2
    np.testing.assert_allclose(with_unit(scale, offset), with_unit(1.0, 0.0), rtol=1e-6)


def _noting(knew, known):
    knew.append(set(known.subjects))
    return sequences.log_euclidean(SMALL, known, in_frame=False)
