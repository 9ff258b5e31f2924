"""Nested cross-validation over groups of people: trials of each method and the choice of a method.

Each group is measured by models that saw none of its people. The method of a group is chosen by
models that saw none of its people either, so the choice does not bias the figures.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from keras_dml import evaluation, inference
from keras_dml._contents import content
from keras_dml.training import measure, pooled, trials
from keras_dml.training.own.task import Task, measurable, thin
from keras_dml.training.people import People, folds
from keras_dml.training.trials import Trials

if TYPE_CHECKING:
    from keras_dml._backend import keras
    from keras_dml._typing import Recordings
    from keras_dml.training.own.methods import Method

FOLDS = 5
FEWEST = 4  # people who are needed for a figure: two to train on, two to compare
FEWEST_GROUPS = 3  # with fewer groups nobody remains to train on if two are left out
SHARE = 0.25  # of the remaining time, for the choice of one method in closed form

NESTED = (
    "The method of each group is the one that is best on the other groups, by models that saw "
    "nobody of that group (on two other groups for a slow method). So the headline measures the "
    "choice and the training together. Chosen: {names}."
)
NOT_NESTED = (
    "The method of each group is the one that is best on the other group, by a model that saw the "
    "people of the first group. Chosen: {names}. With {people} people or more, the models that "
    "choose have not seen these people."
)


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluation:
    """Cross-validated trials of one method.

    Attributes:
        method: `keras_dml.training.own.methods.Method`.
        parts: `Trials` of each group; distances are in units of the group's model.
        seconds: Time that the evaluation took.
        nested: `Trials` of a group by a model that saw neither this group nor a second one. The
            keys are the indices of both groups, the measured group first. Empty if there are too
            few groups.
    """

    method: Method
    parts: tuple[Trials, ...]
    seconds: float
    nested: dict = dataclasses.field(default_factory=dict)

    @property
    def trials(self) -> Trials:
        """`Trials` of all groups."""
        return trials.concatenate(list(self.parts))

    def without(self, group: int) -> dict[int, Trials]:
        """Returns the trials of the other groups by models that saw nobody of a group.

        With too few groups for such models, the trials are by models that saw the group.

        Args:
            group: Index of the group that is left out.

        Returns:
            Dict of `Trials` by the index of the measured group.
        """
        if not self.nested:
            return {i: part for i, part in enumerate(self.parts) if i != group}
        return {i: part for (i, second), part in self.nested.items() if second == group}


def split_into_groups(task: Task, people: People) -> list[People]:
    """Divides the people into groups.

    People without recordings on both sides are only trained on.

    Args:
        task: The task.
        people: Recordings divided into two sides, see `keras_dml.training.own.task.in_sides`.

    Returns:
        List of `People`, the windows of each group; empty if too few people can be measured.
    """
    names = measurable(people, task.window)
    if len(names) < FEWEST:
        return []
    groups = folds(names, min(FOLDS, len(names) // 2), task.seed)
    return [task.to_measure(people.select(group)) for group in groups]


def without_groups(people: People, groups: list[People]) -> People:
    """Returns the recordings of all people who are in none of some groups.

    Args:
        people: All recordings.
        groups: Groups that are left out, see `split_into_groups`.
    """
    return people.without({name for group in groups for name in group.subjects})


def unit_windows(task: Task, people: People) -> People:
    """Returns a few windows of each person, from which `distance_unit` is measured."""
    windows = people.windows(task.window)
    return thin(windows, windows.subjects, measure.FOR_UNIT)


class Embedder:
    """Embeds windows, and embeds each window only once if groups share a model."""

    def __init__(self) -> None:
        self._model, self._embeddings = None, {}

    def __call__(self, model: keras.Model, signals: Recordings) -> np.ndarray:
        """Returns the embeddings of windows, as `keras_dml.embed` computes them."""
        if model is not self._model:
            self._model, self._embeddings = model, {}
        keys = [content(signal) for signal in signals]
        new = {key: x for key, x in zip(keys, signals, strict=True) if key not in self._embeddings}
        if new:
            z = inference.embed(model, list(new.values()), progress=False)
            self._embeddings.update(zip(new, z, strict=True))
        return np.stack([self._embeddings[key] for key in keys])


def evaluate_model(
    model: keras.Model, windows: People, groups: list[People], embed: Embedder
) -> list[Trials]:
    """Computes the trials of groups by a model that saw nobody of them.

    Args:
        model: A `keras.Model`.
        windows: Windows of people whom the model was trained on, see `unit_windows`.
        groups: Groups to measure, see `split_into_groups`.
        embed: The embedder.

    Returns:
        `Trials` of each group. Distances are in units of the median distance between two people
        whom the model was trained on.
    """
    offset, unit = distance_offset(model), distance_unit(model, windows, embed)
    parts = [trials.from_embeddings(model, embed(model, group.signals), group) for group in groups]
    return [dataclasses.replace(part, scores=(part.scores + offset) / unit) for part in parts]


def distance_offset(model: keras.Model) -> float:
    """Returns the number that shifts a model's distances to begin at 0: 1 for cosines, else 0."""
    return 1.0 if inference.head_distance(model).name == "cosine" else 0.0


def distance_unit(model: keras.Model, windows: People, embed: Embedder) -> float:
    """Computes the median of the shifted distances between windows of different people."""
    offset = distance_offset(model)

    def between(signals):
        z = embed(model, signals)
        return inference.distance(model, z, z) + offset

    return measure.distance_unit(between, windows)


def threshold_for_far(
    evaluation_of_method: Evaluation, per_group: list[Evaluation], far: float
) -> tuple[evaluation.Certificate, evaluation.AcceptRates] | None:
    """Computes a threshold for a false accept rate, and measures the rates that it keeps.

    The rates are measured on people whom the model, the threshold and the choice have not seen:
    the threshold that decides the trials of a group is computed on the other groups, see
    `Evaluation.without`.

    Args:
        evaluation_of_method: Evaluation of the method that needs a threshold.
        per_group: For each group the evaluation that decides it, see `choose_per_group`.
        far: False accept rate wanted.

    Returns:
        The certificate, extrapolated if the people do not support the rate, and the accept rates.
        None if even the extrapolation does not reach the rate.
    """
    try:
        certified = evaluation.certificate(
            *_false_claims(evaluation_of_method), far, extrapolate=True
        )
        limits = [_limit(each.without(i), far) for i, each in enumerate(per_group)]
    except ValueError:  # beyond what the people support, or ties that no threshold separates
        return None
    if not min(certified.threshold, *limits) > 0:
        return None
    decided = trials.concatenate(
        [
            dataclasses.replace(each.parts[i], scores=each.parts[i].scores / limits[i])
            for i, each in enumerate(per_group)
        ]
    )
    return certified, evaluation.accept_rates(
        decided.scores, decided.genuine, 1.0, people=decided.people, bootstrap=pooled.BOOTSTRAP
    )


def supported_rates(
    method: Evaluation, far: float
) -> evaluation.Certificate | evaluation.FalseAccepts:
    """Computes which false accept rates the people support, at the threshold of one rate.

    The result is the certificate of `threshold_for_far` if that exists.

    Args:
        method: Evaluation of a method.
        far: False accept rate of the threshold.
    """
    claims = _false_claims(method)
    try:
        return evaluation.certificate(*claims, far, extrapolate=True)
    except ValueError:  # beyond what the people support, or ties
        return evaluation.false_accepts(*claims, _threshold_or_nobody(method, far))


def _threshold_or_nobody(method, far):
    try:
        return _threshold(method.trials, far)
    except ValueError:  # too few trials, or ties: a threshold that accepts nobody
        return -math.inf


def _false_claims(method):
    joined = method.trials
    false = ~joined.genuine
    return joined.scores[false], tuple(side[false] for side in joined.people)


def _limit(parts, far):
    return _threshold(trials.concatenate(list(parts.values())), far)


def _threshold(claims, far):
    return evaluation.threshold_at_far(claims.scores, claims.genuine, far).value


def nested_pairs(groups: int, is_slow: bool) -> list[tuple[int, int]]:
    """Returns the pairs of groups that further models are trained without.

    Their figures on one group of a pair choose the method for the other group.

    Args:
        groups: Number of groups.
        is_slow: Whether training takes long, as for networks. Then only neighbors in a ring are
            paired, so that each group is in two pairs.

    Returns:
        List of pairs of indices, the lower one first; empty if nobody would remain to train on.
    """
    if groups < FEWEST_GROUPS:
        return []
    pairs = itertools.combinations(range(groups), 2)
    return [(i, j) for i, j in pairs if not is_slow or j - i in (1, groups - 1)]


def is_slow(seconds: float, seconds_left: float) -> bool:
    """Returns whether models without each pair of groups would take too much of the time.

    Args:
        seconds: Seconds that the models without single groups took. Models without pairs take up
            to twice as long.
        seconds_left: Remaining seconds.
    """
    return 2 * seconds > SHARE * seconds_left


def best_method(methods: list[Evaluation]) -> Evaluation:
    """Returns the method with the lowest EER, then the largest AUC; of equal methods the first."""
    return min(methods, key=rank)


def choose_per_group(methods: list[Evaluation]) -> list[Evaluation]:
    """Chooses for each group the method that is best on the other groups.

    A method is compared with the best of the methods before it, on the groups that both are
    measured on.
    """
    return [_best_without(i, methods) for i in range(len(methods[0].parts))]


def chosen_trials(methods: list[Evaluation]) -> Trials:
    """Returns the trials of all groups, each group by the method that was chosen for it."""
    best = choose_per_group(methods)
    return trials.concatenate([method.parts[i] for i, method in enumerate(best)])


def describe_choice(methods: list[Evaluation]) -> str:
    """Describes how the methods of the headline were chosen, and names them."""
    counts = collections.Counter(each.method.name for each in choose_per_group(methods))
    names = ", ".join(f"{name} in {count}" for name, count in counts.most_common())
    if methods[0].nested:
        return NESTED.format(names=names)
    return NOT_NESTED.format(names=names, people=2 * FEWEST_GROUPS)


def rank(method: Evaluation) -> tuple[float, float]:
    """Returns the sort key of a method: its EER, then its negative AUC."""
    return _rank(method.trials)


def _best_without(group, methods):
    best = methods[0]
    for candidate in methods[1:]:
        first, second = best.without(group), candidate.without(group)
        shared = [i for i in first if i in second]
        if _rank_on(second, shared) < _rank_on(first, shared):
            best = candidate
    return best


def _rank_on(parts, groups):
    return _rank(trials.concatenate([parts[i] for i in groups]))


def _rank(claims):
    figures = evaluation.verification(claims.scores, claims.genuine)
    return figures.eer, -figures.auc
