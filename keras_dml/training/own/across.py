"""Cross-validation over groups of people: each is measured by models that never saw anybody of
it."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from keras_dml import evaluation, inference
from keras_dml.training import measure, pooled, trials
from keras_dml.training.own.task import measurable, thinned
from keras_dml.training.people import folds

FOLDS = 5
FEWEST = 4  # people with a figure: two to train on, two to tell apart


class Part(NamedTuple):
    """A group of people that is measured.

    Attributes:
        known: `People` to train on, whole recordings: all others.
        windows: Some windows of `known`, whose distances are the unit.
        tested: Windows of the people of the group.
    """

    known: object
    windows: object
    tested: object


@dataclasses.dataclass(frozen=True, eq=False)
class Scored:
    """A method on all groups.

    Attributes:
        method: `keras_dml.training.own.methods.Method`.
        parts: `Trials` of each group, distances in units of each group's model.
        seconds: Time that it took.
    """

    method: object
    parts: tuple
    seconds: float

    @property
    def joined(self):
        """`Trials` of all groups."""
        return trials.joined(list(self.parts))


def divided(task, people):
    """The groups of people.

    People without recordings on both sides are trained on and never measured.

    Args:
        task: `keras_dml.training.own.task.Task`.
        people: `keras_dml.training.People` in sides.

    Returns:
        List of `Part`; empty where too few people can be measured.
    """
    names = measurable(people, task.window)
    if len(names) < FEWEST:
        return []
    found = []
    for group in folds(names, min(FOLDS, len(names) // 2), task.seed):
        known = people.without(group)
        tested = task.to_measure(people.of(group))
        found.append(Part(known, for_unit(task, known), tested))
    return found


def for_unit(task, people):
    """A few windows of each person, whose distances are the unit of a model's."""
    windows = people.windows(task.window)
    return thinned(windows, windows.subjects, measure.FOR_UNIT)


def scored(model, part):
    """The trials of a group by a model.

    Args:
        model: A `keras.Model`.
        part: `Part`.

    Returns:
        `keras_dml.training.trials.Trials`, distances in units of the median between two people whom
        the model knows.
    """
    found = trials.by_model(model, part.tested)
    return dataclasses.replace(
        found, scores=(found.scores + offset(model)) / unit(model, part.windows)
    )


def offset(model):
    """What is added to a model's distances so that they begin at 0: cosines are negative."""
    return 1.0 if inference.head_distance(model).name == "cosine" else 0.0


def unit(model, windows):
    """The median distance, from 0, between windows of different people."""
    shift = offset(model)
    return measure.unit(lambda some: _between(model, some) + shift, windows)


def _between(model, signals):
    z = inference.embed(model, signals, progress=False)
    return inference.distance(model, z, z)


def best(methods):
    """The method of the lowest EER, of equal ones that of the largest AUC, then the first.

    Args:
        methods: List of `Scored`.
    """
    return min(methods, key=rank)


def best_elsewhere(methods):
    """For each group the method that is best on the other groups.

    Args:
        methods: List of `Scored`.
    """
    return [
        min(methods, key=lambda one: _rank(trials.joined(_others(one.parts, i))))
        for i in _numbers(methods[0])
    ]


def chosen_trials(methods):
    """`Trials` of all groups, each by the method that is best on the others: what choosing gives.

    Args:
        methods: List of `Scored`.
    """
    found = best_elsewhere(methods)
    return trials.joined([one.parts[i] for i, one in enumerate(found)])


def rank(one):
    """By what methods are sorted: the EER, then the AUC.

    Args:
        one: `Scored`.
    """
    return _rank(one.joined)


def _rank(found):
    figures = evaluation.verification(found.scores, found.genuine)
    return figures.eer, -figures.auc


def threshold(one, far):
    """A threshold for a false accept rate in units of the groups, and the rates that such ones
    keep.

    The rates are those of people whom neither the model nor the threshold has seen: each group's
    trials are decided by the threshold of the other groups.

    Args:
        one: `Scored`.
        far: False accept rate wanted.

    Returns:
        `evaluation.Certificate`, extrapolated where the people do not support the rate, and
        `evaluation.AcceptRates`; None where not even a model of the tail reaches the rate.
    """
    try:
        certified = evaluation.certificate(*_false_claims(one), far, extrapolate=True)
        limits = [_threshold(trials.joined(_others(one.parts, i)), far) for i in _numbers(one)]
    except ValueError:  # beyond what the people support, or ties that no threshold parts
        return None
    if not min(certified.threshold, *limits) > 0:
        return None
    decided = trials.joined(
        [
            dataclasses.replace(part, scores=part.scores / limit)
            for part, limit in zip(one.parts, limits, strict=True)
        ]
    )
    return certified, evaluation.accept_rates(
        decided.scores, decided.genuine, 1.0, people=decided.people, bootstrap=pooled.BOOTSTRAP
    )


def independent_pairs(one, far):
    """How many independent pairs of people the trials of a method are worth, at the threshold of a
    false accept rate.

    Args:
        one: `Scored`.
        far: False accept rate, at least one over the number of imposter trials; else half the
            people are taken, pairs that share nobody.
    """
    try:
        value = _threshold(one.joined, far)
    except ValueError:  # too few trials, or ties
        return len(set(one.joined.claims.tolist())) / 2
    return evaluation.false_accepts(*_false_claims(one), value).independent


def _false_claims(one):
    joined = one.joined
    false = ~joined.genuine
    return joined.scores[false], tuple(side[false] for side in joined.people)


def _threshold(found, far):
    return evaluation.threshold_at_far(found.scores, found.genuine, far).value


def _numbers(one):
    return range(len(one.parts))


def _others(parts, i):
    return [part for j, part in enumerate(parts) if j != i]
