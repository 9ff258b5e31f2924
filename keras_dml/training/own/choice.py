"""The choice of a method, and what choosing gives: for each group of people the method is chosen by
models that saw nobody of it."""

from __future__ import annotations

import collections
import itertools

from keras_dml import evaluation
from keras_dml.training import trials

FEWEST_GROUPS = 3  # without two of them there is somebody left to train on
SHARE = 0.25  # of the time that is left, for the choice of one closed form

NESTED = (
    "The method of each group is the one that is best on the other groups by models that saw "
    "nobody of it (a method that takes long on two of them): what is measured is choosing and "
    "training together. It was {chosen}."
)
NOT_NESTED = (
    "The method of each group is the one that is best on the other group, by a model that saw this "
    "one's people: it was {chosen}. From {people} people on the choice is made apart from them."
)


def pairs(groups, is_long):
    """Pairs of groups that further models are trained without, whose figures on one group choose
    the method for the other.

    Args:
        groups: Number of groups.
        is_long: Whether the models take long, as networks do: then the pairs are those of neighbors
            in a ring, two for each group.

    Returns:
        List of pairs of indices, the lower one first; empty where nobody would be left.
    """
    if groups < FEWEST_GROUPS:
        return []
    found = itertools.combinations(range(groups), 2)
    return [(i, j) for i, j in found if not is_long or j - i in (1, groups - 1)]


def is_long(seconds, left):
    """Whether models without all pairs of groups would take too much of the time.

    Args:
        seconds: Seconds that the models without single groups took: those without pairs take up to
            twice as long.
        left: Seconds that are left.
    """
    return 2 * seconds > SHARE * left


def best(methods):
    """The method of the lowest EER, of equal ones that of the largest AUC, then the first.

    Args:
        methods: List of `across.Scored`.
    """
    return min(methods, key=rank)


def best_elsewhere(methods):
    """For each group the method that is best on others, each method compared with the best of those
    before it on the groups that both are measured on.

    Args:
        methods: List of `across.Scored`.
    """
    return [_best_without(i, methods) for i in range(len(methods[0].parts))]


def chosen_trials(methods):
    """`Trials` of all groups, each by the method that is best on others: what choosing gives.

    Args:
        methods: List of `across.Scored`.
    """
    found = best_elsewhere(methods)
    return trials.joined([one.parts[i] for i, one in enumerate(found)])


def in_words(methods):
    """How the headline's methods were chosen, and which they were.

    Args:
        methods: List of `across.Scored`.
    """
    names = collections.Counter(one.method.name for one in best_elsewhere(methods))
    chosen = ", ".join(f"{name} in {count}" for name, count in names.most_common())
    if methods[0].apart:
        return NESTED.format(chosen=chosen)
    return NOT_NESTED.format(chosen=chosen, people=2 * FEWEST_GROUPS)


def rank(one):
    """By what methods are sorted: the EER, then the AUC.

    Args:
        one: `across.Scored`.
    """
    return _rank(one.joined)


def _best_without(group, methods):
    found = methods[0]
    for one in methods[1:]:
        first, second = found.without(group), one.without(group)
        both = [i for i in first if i in second]
        if _rank_of(second, both) < _rank_of(first, both):
            found = one
    return found


def _rank_of(parts, groups):
    return _rank(trials.joined([parts[i] for i in groups]))


def _rank(found):
    figures = evaluation.verification(found.scores, found.genuine)
    return figures.eer, -figures.auc
