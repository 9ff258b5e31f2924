"""Cross-validation over groups of people: each is measured by models that never saw anybody of
it."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from keras_dml import evaluation, inference
from keras_dml._contents import content
from keras_dml.training import measure, pooled, trials
from keras_dml.training.own.task import measurable, thinned
from keras_dml.training.people import folds

FOLDS = 5
FEWEST = 4  # people with a figure: two to train on, two to tell apart


@dataclasses.dataclass(frozen=True, eq=False)
class Scored:
    """A method on all groups.

    Attributes:
        method: `keras_dml.training.own.methods.Method`.
        parts: `Trials` of each group, distances in units of each group's model.
        seconds: Time that it took.
        apart: `Trials` of a group by a model that saw neither it nor another group, by the indices
            of both, the group's own first; empty where the groups are too few.
    """

    method: object
    parts: tuple
    seconds: float
    apart: dict = dataclasses.field(default_factory=dict)

    @property
    def joined(self):
        """`Trials` of all groups."""
        return trials.joined(list(self.parts))

    def without(self, group):
        """`Trials` of other groups by their indices, by models that saw nobody of a group; where
        the groups are too few for such models, by those that did."""
        if not self.apart:
            return {i: part for i, part in enumerate(self.parts) if i != group}
        return {i: part for (i, other), part in self.apart.items() if other == group}


def divided(task, people):
    """The groups of people.

    People without recordings on both sides are trained on and never measured.

    Args:
        task: `keras_dml.training.own.task.Task`.
        people: `keras_dml.training.People` in sides.

    Returns:
        List of `People`, windows of each group; empty where too few people can be measured.
    """
    names = measurable(people, task.window)
    if len(names) < FEWEST:
        return []
    groups = folds(names, min(FOLDS, len(names) // 2), task.seed)
    return [task.to_measure(people.of(group)) for group in groups]


def known(people, groups):
    """The recordings of those who are in none of some groups.

    Args:
        people: `keras_dml.training.People`, all at hand.
        groups: List of groups, see `divided`.
    """
    return people.without({name for group in groups for name in group.subjects})


def for_unit(task, people):
    """A few windows of each person, whose distances are the unit of a model's."""
    windows = people.windows(task.window)
    return thinned(windows, windows.subjects, measure.FOR_UNIT)


class Embedder:
    """Embeds the windows of groups by their models, each window once where groups share a model."""

    def __init__(self):
        self._model, self._found = None, {}

    def __call__(self, model, signals):
        """The embeddings of windows, as `keras_dml.embed` gives them."""
        if model is not self._model:
            self._model, self._found = model, {}
        keys = [content(signal) for signal in signals]
        new = {key: x for key, x in zip(keys, signals, strict=True) if key not in self._found}
        if new:
            z = inference.embed(model, list(new.values()), progress=False)
            self._found.update(zip(new, z, strict=True))
        return np.stack([self._found[key] for key in keys])


def scored(model, windows, groups, embed):
    """The trials of groups by a model that saw nobody of them.

    Args:
        model: A `keras.Model`.
        windows: Some windows of people whom the model knows.
        groups: List of groups, see `divided`.
        embed: `Embedder`.

    Returns:
        List of `keras_dml.training.trials.Trials`, distances in units of the median between two
        people whom the model knows.
    """
    shift, scale = offset(model), unit(model, windows, embed)
    found = [trials.by_embeddings(model, embed(model, one.signals), one) for one in groups]
    return [dataclasses.replace(one, scores=(one.scores + shift) / scale) for one in found]


def offset(model):
    """What is added to a model's distances so that they begin at 0: cosines are negative."""
    return 1.0 if inference.head_distance(model).name == "cosine" else 0.0


def unit(model, windows, embed):
    """The median distance, from 0, between windows of different people."""
    shift = offset(model)

    def between(signals):
        z = embed(model, signals)
        return inference.distance(model, z, z) + shift

    return measure.unit(between, windows)


def threshold(one, chosen, far):
    """A threshold for a false accept rate in units of the groups, and the rates that such ones
    keep.

    The rates are those of people whom neither model nor threshold nor choice has seen: each group's
    trials are decided by the threshold of the other groups, see `Scored.without`.

    Args:
        one: `Scored` of the method whose threshold is wanted.
        chosen: For each group the `Scored` whose rates are wanted, see `choice.best_elsewhere`.
        far: False accept rate wanted.

    Returns:
        `evaluation.Certificate`, extrapolated where the people do not support the rate, and
        `evaluation.AcceptRates`; None where not even a model of the tail reaches the rate.
    """
    try:
        certified = evaluation.certificate(*_false_claims(one), far, extrapolate=True)
        limits = [_limit(each.without(i), far) for i, each in enumerate(chosen)]
    except ValueError:  # beyond what the people support, or ties that no threshold parts
        return None
    if not min(certified.threshold, *limits) > 0:
        return None
    decided = trials.joined(
        [
            dataclasses.replace(each.parts[i], scores=each.parts[i].scores / limits[i])
            for i, each in enumerate(chosen)
        ]
    )
    return certified, evaluation.accept_rates(
        decided.scores, decided.genuine, 1.0, people=decided.people, bootstrap=pooled.BOOTSTRAP
    )


def supported(one, far):
    """What the people support of false accept rates, seen at the threshold of one: what `threshold`
    certifies, where it does.

    Args:
        one: `Scored`.
        far: False accept rate.

    Returns:
        `evaluation.Certificate` or `evaluation.FalseAccepts`.
    """
    claims = _false_claims(one)
    try:
        return evaluation.certificate(*claims, far, extrapolate=True)
    except ValueError:  # beyond what the people support, or ties
        return evaluation.false_accepts(*claims, _value(one, far))


def _value(one, far):
    try:
        return _threshold(one.joined, far)
    except ValueError:  # too few trials, or ties: that which accepts nobody
        return -math.inf


def _false_claims(one):
    joined = one.joined
    false = ~joined.genuine
    return joined.scores[false], tuple(side[false] for side in joined.people)


def _limit(parts, far):
    return _threshold(trials.joined(list(parts.values())), far)


def _threshold(found, far):
    return evaluation.threshold_at_far(found.scores, found.genuine, far).value
