"""Measures each method by nested cross-validation over groups of people, and chooses the best one.

The figures of a group come from models that were not trained on its people. The results of other
models that were not trained on these people decide which method is chosen for the group. The choice
therefore does not bias the figures.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from keras_dml import distances, evaluation, inference
from keras_dml import scoring as scorings
from keras_dml._contents import content
from keras_dml.training import measure, pooled, trials, two_covariance
from keras_dml.training.own.task import Task, measurable, thin
from keras_dml.training.people import People, folds
from keras_dml.training.trials import Trials

if TYPE_CHECKING:
    from keras_dml._backend import keras
    from keras_dml._typing import Recordings
    from keras_dml.training.own.methods import Method

FOLDS = 5
# smallest number of people from which error rates are computed: two for training and two for
# comparisons
FEWEST = 4
FEWEST_GROUPS = 3  # if two groups are left out, at least one group must remain for training
SHARE = 0.25  # fraction of the remaining time for choosing one closed-form method

NESTED = (
    "For each group, the method that is best on the other groups is used. To choose this method, "
    "all methods are measured by models that were not trained on people of the group (a slow "
    "method is measured on two other groups). So the main result measures the choice of the method "
    "and the training together. Chosen: {names}."
)
NOT_NESTED = (
    "For each group, the method that is best on the other group is used. To choose this method, "
    "all methods are measured by a model that was trained on people of the first group. Chosen: "
    "{names}. With {people} people or more, the choice uses models that are not trained on these "
    "people."
)


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluation:
    """Trials of one method from cross-validation.

    Attributes:
        method: `keras_dml.training.own.methods.Method`.
        parts: `Trials` of each group. The unit of the distances is the median distance between two
            people on whom the model was trained, as in `evaluate_model`.
        seconds: Duration of the evaluation in seconds.
        nested: Dict `{(measured, second): Trials}`. Each value contains the trials of the group
            with index `measured`, computed by a model that was trained without this group and
            without the group with index `second`. The dict is empty if there are too few groups.
    """

    method: Method
    parts: tuple[Trials, ...]
    seconds: float
    nested: dict[tuple[int, int], Trials] = dataclasses.field(default_factory=dict)

    @property
    def trials(self) -> Trials:
        """`Trials` of all groups."""
        return trials.concatenate(list(self.parts))

    def without(self, group: int) -> dict[int, Trials]:
        """Returns the trials of all groups except `group`, by models not trained on `group`.

        If there are too few groups, no model was trained without `group`, and the trials come from
        models that were trained on `group`.

        Args:
            group: Index of the group that the models were not trained on.

        Returns:
            Dict of `Trials`. The keys are the indices of all groups except `group`.
        """
        if not self.nested:
            return {i: part for i, part in enumerate(self.parts) if i != group}
        return {i: part for (i, second), part in self.nested.items() if second == group}


def split_into_groups(task: Task, people: People) -> list[People]:
    """Divides the people into groups.

    People who lack enrolled recordings or probes are used for training only.

    Args:
        task: Task of the training.
        people: `People` whose recordings are divided into enrolled recordings and probes, see
            `keras_dml.training.own.task.split_sides`.

    Returns:
        List of `People` with the windows of each group. The list is empty if too few people can be
        measured.
    """
    names = measurable(people, task.window)
    if len(names) < FEWEST:
        return []
    groups = folds(names, min(FOLDS, len(names) // 2), task.seed)
    return [task.to_measure(people.select(group)) for group in groups]


def without_groups(people: People, groups: list[People]) -> People:
    """Returns the recordings of all people who are not in the given groups.

    Args:
        people: All recordings.
        groups: Groups to leave out, see `split_into_groups`.
    """
    return people.without({name for group in groups for name in group.subjects})


def unit_windows(task: Task, people: People) -> People:
    """Returns a few windows of each person, as arguments for `distance_unit`."""
    windows = people.windows(task.window)
    return thin(windows, windows.subjects, measure.FOR_UNIT)


class Embedder:
    """Computes embeddings of windows, and reuses stored embeddings if groups share a model."""

    def __init__(self) -> None:
        self._model, self._embeddings = None, {}

    def __call__(self, model: keras.Model, signals: Recordings) -> np.ndarray:
        """Returns the stored embeddings of windows, or computes them by `keras_dml.embed`."""
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
    """Computes trials of groups with a model that was not trained on people of these groups.

    Args:
        model: A `keras.Model`.
        windows: Windows of people on whom the model was trained, see `unit_windows`.
        groups: Groups to measure, see `split_into_groups`.
        embed: The `Embedder`.

    Returns:
        `Trials` of each group. The unit of the distances is the median distance between two people
        on whom the model was trained.
    """
    offset, unit = distance_offset(model), distance_unit(model, windows, embed)
    parts = [trials.from_embeddings(model, embed(model, group.signals), group) for group in groups]
    return [dataclasses.replace(part, scores=(part.scores + offset) / unit) for part in parts]


class _Compared:
    """Distances and means of a model's embeddings, for scorings.

    Args:
        model: A `keras.Model`.
    """

    def __init__(self, model: keras.Model):
        self._model, distance = model, inference.head_distance(model)
        self.distance_name, self.has_mean = distance.name, distance.has_mean
        self.mean_points, self.from_mean_point = distance.mean_points, distance.from_mean_point

    def distances(self, probes: np.ndarray, stored: np.ndarray) -> np.ndarray:
        return inference.distance(self._model, probes, stored)


class _Coordinates(distances.LogLikelihoodRatio):
    """Distance of the two-covariance model, as a scoring needs it."""

    distance_name = scorings.TwoCovariance.name


def evaluate_scorings(
    model: keras.Model, fitted: People, windows: People, groups: list[People], embed: Embedder
) -> dict[str, list[Trials]]:
    """Computes trials of groups with each scoring that the model supports.

    Args:
        model: A `keras.Model`.
        fitted: Windows of people on whom the model was trained. The two-covariance model is fitted
            to these windows.
        windows: See `evaluate_model`.
        groups: See `evaluate_model`.
        embed: See `evaluate_model`.

    Returns:
        Dict from the name of a scoring to `Trials` of each group. The unit of the scores of
        `nearest` and `mean` is described in `evaluate_model`. The scores of `two_covariance` are
        negative log likelihood ratios.
    """
    results = {"nearest": evaluate_model(model, windows, groups, embed)}
    compared = _Compared(model)
    if compared.has_mean:
        offset, unit = distance_offset(model), distance_unit(model, windows, embed)
        rule = scorings.get("mean")
        parts = [
            trials.by_scoring(rule, compared, embed(model, group.signals), group)
            for group in groups
        ]
        results["mean"] = [
            dataclasses.replace(part, scores=(part.scores + offset) / unit) for part in parts
        ]
    vectors = embed(model, fitted.signals)
    if vectors.ndim != 2:
        return results
    try:
        kernel, bias, variances = two_covariance.two_covariance_weights(vectors, fitted.subjects)
    except ValueError:  # too few people or recordings, or people who do not differ
        return results
    rule = scorings.get("two_covariance")
    parts = []
    for group in groups:
        coordinates = embed(model, group.signals) @ kernel + bias
        z = np.stack([coordinates, np.broadcast_to(variances, coordinates.shape)], axis=1)
        parts.append(trials.by_scoring(rule, _Coordinates(), z, group))
    return results | {rule.name: parts}


def distance_offset(model: keras.Model) -> float:
    """Returns the number that is added to distances so that the smallest possible distance is 0.

    The number is 1 for the cosine distance and 0 for all other distances.
    """
    return 1.0 if inference.head_distance(model).name == "cosine" else 0.0


def distance_unit(model: keras.Model, windows: People, embed: Embedder) -> float:
    """Computes the median distance between windows of different people, plus `distance_offset`."""
    offset = distance_offset(model)

    def between(signals):
        z = embed(model, signals)
        return inference.distance(model, z, z) + offset

    return measure.distance_unit(between, windows)


def threshold_for_far(
    evaluation_of_method: Evaluation, per_group: list[Evaluation], far: float
) -> tuple[evaluation.Certificate, evaluation.AcceptRates] | None:
    """Computes a threshold for a false accept rate, and measures the resulting accept rates.

    The people whose trials give the accept rates have no influence on the model, the threshold or
    the choice of the method. The threshold for the trials of a group is therefore computed on the
    other groups (see `Evaluation.without`).

    Args:
        evaluation_of_method: Evaluation of the method that needs a threshold.
        per_group: Evaluation of the method that was chosen for each group, see `choose_per_group`.
        far: Requested false accept rate.

    Returns:
        Tuple of two objects: the threshold with confidence bounds of its false accept rate, and the
        measured accept rates. The threshold is extrapolated if the number of people does not
        support `far`. The result is None if even extrapolation gives no threshold for `far`.
    """
    try:
        certified = evaluation.certificate(
            *_false_claims(evaluation_of_method), far, extrapolate=True
        )
        limits = [_limit(each.without(i), far) for i, each in enumerate(per_group)]
    except ValueError:  # raised if there are too few people, or if ties leave no threshold
        return None
    deciding = [evaluation_of_method, *per_group]
    for each, limit in zip(deciding, [certified.threshold, *limits], strict=True):
        has_zero = each.method.scoring != scorings.TwoCovariance.name
        if not limit > (0 if has_zero else -math.inf):
            return None
    decided = trials.concatenate(
        [
            dataclasses.replace(each.parts[i], scores=each.parts[i].scores - limits[i])
            for i, each in enumerate(per_group)
        ]
    )
    return certified, evaluation.accept_rates(
        decided.scores, decided.genuine, 0.0, people=decided.people, bootstrap=pooled.BOOTSTRAP
    )


def supported_rates(
    method: Evaluation, far: float
) -> evaluation.Certificate | evaluation.FalseAccepts:
    """Computes which false accept rates the number of people supports.

    If `threshold_for_far` finds a threshold, the certificate in its result equals the result of
    `supported_rates`.

    Args:
        method: Evaluation of a method.
        far: False accept rate of the threshold.
    """
    claims = _false_claims(method)
    try:
        return evaluation.certificate(*claims, far, extrapolate=True)
    except ValueError:  # too few people for `far`, or ties leave no threshold
        return evaluation.false_accepts(*claims, _threshold_or_nobody(method, far))


def _threshold_or_nobody(method, far):
    try:
        return _threshold(method.trials, far)
    except ValueError:  # with too few trials or with ties, a threshold that accepts nobody
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
    """Returns pairs of groups. For each pair, a further model is trained without the two groups.

    A model that is trained without a pair of groups is measured on both groups of the pair. The
    result on one group helps to choose the method for the other group.

    Args:
        groups: Number of groups.
        is_slow: Whether training is slow, as for networks. If True, the groups form a ring and only
            neighbors are paired, so that each group is in two pairs.

    Returns:
        List of pairs of indices, the lower index first. The list is empty if no people would remain
        for training.
    """
    if groups < FEWEST_GROUPS:
        return []
    pairs = itertools.combinations(range(groups), 2)
    return [(i, j) for i, j in pairs if not is_slow or j - i in (1, groups - 1)]


def is_slow(seconds: float, seconds_left: float) -> bool:
    """Returns whether it would take too long to train a model for each pair of left-out groups.

    Args:
        seconds: Number of seconds that the training of all models with one left-out group took. The
            training of all models with two left-out groups takes up to twice as long.
        seconds_left: Remaining seconds.
    """
    return 2 * seconds > SHARE * seconds_left


def best_method(methods: list[Evaluation]) -> Evaluation:
    """Returns the method with the lowest EER.

    Ties are broken by the largest AUC, then by the order of the methods.
    """
    return min(methods, key=rank)


def choose_per_group(methods: list[Evaluation]) -> list[Evaluation]:
    """Chooses for each group the method that is best on the other groups.

    The methods are compared one after the other. Each method is compared with the best method so
    far, on the groups on which both methods were measured.
    """
    return [_best_without(i, methods) for i in range(len(methods[0].parts))]


def chosen_trials(methods: list[Evaluation]) -> Trials:
    """Returns trials of all groups.

    Each group is measured with the method that was chosen for the group. If the methods have
    different scorings, the scores of each group are first moved and scaled. The equal error
    threshold of the other groups becomes 1, and the unit becomes the standard deviation of the
    imposter scores of the other groups.
    """
    best = choose_per_group(methods)
    parts = [method.parts[i] for i, method in enumerate(best)]
    if len({method.method.scoring for method in best}) > 1:
        parts = [_aligned(method, i) for i, method in enumerate(best)]
    return trials.concatenate(parts)


def _aligned(method, group):
    rest = trials.concatenate(list(method.without(group).values()))
    figures = evaluation.verification(rest.scores, rest.genuine)
    part, unit = method.parts[group], np.std(rest.scores[~rest.genuine])
    return dataclasses.replace(part, scores=(part.scores - figures.eer_threshold) / unit + 1)


def describe_choice(methods: list[Evaluation]) -> str:
    """Describes how the methods of the headline were chosen, and names these methods."""
    counts = collections.Counter(each.method.name for each in choose_per_group(methods))
    names = ", ".join(f"{name} in {count}" for name, count in counts.most_common())
    if methods[0].nested:
        return NESTED.format(names=names)
    return NOT_NESTED.format(names=names, people=2 * FEWEST_GROUPS)


def rank(method: Evaluation) -> tuple[float, float]:
    """Returns the key by which methods are sorted: the EER, then the negative AUC."""
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
