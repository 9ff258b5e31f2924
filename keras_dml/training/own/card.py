"""Builds the card of a model that was trained on a user's recordings."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from keras_dml import evaluation, quality
from keras_dml import scoring as scorings
from keras_dml._backend import keras
from keras_dml.training import _card, page, pooled
from keras_dml.training.own import cross_validation
from keras_dml.training.own.cross_validation import Evaluation
from keras_dml.training.own.methods import Method
from keras_dml.training.own.task import Task
from keras_dml.training.people import People
from keras_dml.zoo import catalog, pseudonyms

FARS = pooled.FARS
SHOWN = 6  # channels
BUILDER = "your recordings"
LICENCE = (
    "The recordings and the weights are yours. The consent of the people applies to the recordings "
    "and to the weights."
)
CARRIED = (
    "The model in this file is trained on all people, so its thresholds come from the models of "
    "the groups. Each threshold is divided by the median distance that its model computes between "
    "two training people. It is then multiplied by the median distance that the model in this file "
    "computes between two training people. The TAR is measured on people who were not used in "
    "training. As in the main result, the method and the threshold were chosen on other groups. "
    "The interval of the FAR contains both the measured interval and the interval that this number "
    "of people supports. If you can, calibrate on people who are not in the training data of this "
    "file."
)
CARRIED_RATIOS = (
    "The model in this file is trained on all people, so its thresholds come from the models of "
    "the groups. The scores are log likelihood ratios, which need no conversion. The TAR is "
    "measured on people who were not used in training. As in the main result, the method and the "
    "threshold were chosen on other groups. The interval of the FAR contains both the measured "
    "interval and the interval that this number of people supports. If you can, calibrate on "
    "people who are not in the training data of this file."
)
SCORING_CHOICE = (
    "The scoring was chosen together with the method, on groups of people that are not used for "
    "the figures of the main result. The rows of the other scorings are measured with the same "
    "models."
)
CONSENT = (
    "This card does not record the consent of the people. Enroll and train only with people who "
    "have agreed to be recognized, and tell them how to withdraw. If a person withdraws, train the "
    "model again without this person."
)


@dataclasses.dataclass(frozen=True, eq=False)
class TrainedModel:
    """Trained model with its evaluations. `build` writes the card from this object.

    Attributes:
        task: Task of the training.
        people: Training recordings, divided into enrolled recordings and probes.
        method: Method that the model uses.
        model: The `keras.Model`.
        evaluations: List with an evaluation of each method, or empty if there are too few people.
        notes: Sentences about events during the training.
        unmeasured: Reason why the card has no figures. If the card has figures, `unmeasured` is
            None.
        name_people: Whether the card lists the names of the people.
    """

    task: Task
    people: People
    method: Method
    model: keras.Model
    evaluations: list[Evaluation]
    notes: list[str]
    unmeasured: str | None = None
    name_people: bool = False


def describe_too_few(people: int, measurable: int) -> str:
    """Explains why a card gives no error rate.

    Args:
        people: Number of people.
        measurable: Number of people who have recordings to enroll and recordings to use as probes.
    """
    return (
        f"No error rate is given, because there {'is' if people == 1 else 'are'} {people} "
        f"{'person' if people == 1 else 'people'}. An error rate needs at least "
        f"{cross_validation.FEWEST} people with recordings to enroll and recordings to observe. "
        f"{measurable} of {people} people have both kinds of recordings. This model may not "
        "recognize people at all. Record more people."
    )


def rate_support(method: Evaluation) -> dict[str, Any]:
    """Computes the lowest false accept rate that the number of people supports.

    Args:
        method: Evaluation of the chosen method.

    Returns:
        Dict with `people`, `independent`, `strictest` and `people_needed`. `independent` is the
        number of independent pairs of people that carry as much information as the trials.
        `strictest` is the lowest false accept rate that these pairs support (rule of three, 95 %).
        `people_needed` is a dict. For each false accept rate below `strictest`, the dict contains
        the smallest and the largest estimate of the number of people who are needed to support this
        rate.
    """
    supported = cross_validation.supported_rates(method, FARS[0])
    return {
        "people": supported.people,
        "independent": round(supported.independent, 1),
        "strictest": supported.strictest,
        "people_needed": {
            f"{far:g}": list(supported.people_needed(far))
            for far in FARS
            if far < supported.strictest
        },
    }


def describe_support(support: dict[str, Any]) -> str:
    """Describes in words which false accept rates the number of people supports.

    Args:
        support: Dict that `rate_support` returned.
    """
    needed = ", ".join(
        f"{100 * float(far):g} % {catalog.people_in_words(count)}"
        for far, count in support["people_needed"].items()
    )
    beyond = (
        f" Lower rates need more people ({needed}). Thresholds for lower rates are extrapolated by "
        "a model of the tail of the scores and are not guaranteed."
    )
    return (
        f"The trials of {support['people']} people in groups carry as much information as "
        f"{support['independent']:.0f} independent pairs of people. These trials support false "
        f"accept rates of {page.rounded_up(support['strictest'])} or "
        f"more.{beyond if needed else ''}"
    )


def build(
    trained: TrainedModel, gate: dict[str, Any], command: str, minutes: float
) -> dict[str, Any]:
    """Builds the card without the entries that `publish` reads from the model.

    Args:
        trained: The model with its evaluations.
        gate: Value of the card's `quality`.
        command: Command that trains the model again.
        minutes: Minutes of training.

    Returns:
        Dict that follows `keras_dml.zoo.schema.CARD`, without the name.
    """
    task, evaluations = trained.task, trained.evaluations
    about = {
        "task": f"recognize people by {_join(task.channels)}, with a model of your recordings",
        "paper": trained.method.paper,
        "input": {
            "channels": list(task.channels),
            "units": list(task.units),
            "rate_hz": task.rate_hz,
            "dtype": "float32",
            "length": [task.window, None],
        },
        "data": {
            "builder": BUILDER,
            "licence": trained.method.weights or LICENCE,
            **_people(trained),
            "test_subjects": [],
            "consent": CONSENT,
        },
        "limits": [*_limits(task, evaluations), *trained.notes],
        quality.CARD_KEY: gate,
        "is_own": True,
        "recipe": _card.training_record(command, seed=task.seed, minutes=minutes),
    }
    if not evaluations:
        unmeasured = {"headline": {"unmeasured": trained.unmeasured}, "figures": []}
        return about | unmeasured | {"baselines": []}
    best = cross_validation.chosen_trials(evaluations)
    support = rate_support(_chosen_evaluation(trained))
    return {
        **about,
        "limits": [describe_support(support), *about["limits"]],
        "headline": {"trials": _trials(task), "repeats": task.repeats, **pooled.headline(best)},
        "choice": cross_validation.describe_choice(evaluations),
        "scoring": _scoring(best, trained),
        "figures": [_figure(each) for each in evaluations],
        "figures_are": _describe_figures(trained),
        "baselines": [
            _baseline(best, each, trained.method)
            for each in evaluations
            if each.method.base != trained.method.base
        ],
        **thresholds(trained),
        "support": support,
    }


def _people(trained):
    """Returns the card's entries about the people. The entries contain names if `name_people` is
    True, and otherwise numbers."""
    names = sorted(set(trained.people.subjects))
    return {"train_subjects": names} if trained.name_people else pseudonyms.numbered(names)


def thresholds(trained: TrainedModel) -> dict[str, Any]:
    """Computes the card's `thresholds` and `imposters`.

    The function computes the values with the models of the cross-validation. The function then
    converts the values to the distance unit of the final model, which was trained on all people.

    Args:
        trained: The model with its evaluations.
    """
    best = _chosen_evaluation(trained)
    per_group = cross_validation.choose_per_group(trained.evaluations)
    results = {far: cross_validation.threshold_for_far(best, per_group, far) for far in FARS}
    results = {far: result for far, result in results.items() if result is not None}
    windows = cross_validation.unit_windows(trained.task, trained.people)
    has_ratios = trained.method.scoring == scorings.TwoCovariance.name
    unit, offset = 1.0, 0.0
    if not has_ratios:
        unit = cross_validation.distance_unit(trained.model, windows, cross_validation.Embedder())
        offset = cross_validation.distance_offset(trained.model)
    rows = [
        {
            "far": far,
            "value": float(certified.threshold * unit - offset),
            "trials": certified.trials,
            "tar": float(rates.tar),
            "tar_ci95": list(map(float, rates.tar_ci95)),
            "score": scorings.get(trained.method.scoring).text,
            "scoring": trained.method.scoring,
            "enrolled": int(np.median(best.trials.enrolled)),
            "people": certified.people,
            "method": certified.method,
            "certificate": {
                **pooled.certificate(certified, far),
                "ci95": [
                    float(min(certified.ci95[0], rates.far_ci95[0])),
                    float(max(certified.ci95[1], rates.far_ci95[1])),
                ],
            },
            "carried": CARRIED_RATIOS if has_ratios else CARRIED,
        }
        for far, (certified, rates) in results.items()
    ]
    imposters = pooled.imposter_statistics(best.trials, float(unit), offset)
    return {"thresholds": rows, "imposters": imposters}


def _scoring(best, trained):
    """Returns the card's `scoring`: the chosen scoring, and the others with the same models."""
    method = trained.method
    rivals = [
        _baseline(best, each, method)
        for each in trained.evaluations
        if each.method.base == method.base and each.method != method
    ]
    return {"name": method.scoring, "choice": SCORING_CHOICE, "rivals": rivals}


def _chosen_evaluation(trained):
    return next(each for each in trained.evaluations if each.method == trained.method)


def _trials(task):
    by_session = task.repeats == "sessions"
    probes = "a person's last session" if by_session else "the later half of a person's recordings"
    return (
        f"each window of {task.length_in_words} of {probes} is compared with the earlier "
        "recordings of each person in the same group. The model of a group was not trained on "
        "people of the group. The distances of a group are divided by the median distance that "
        "its model computes between two training people, and log likelihood ratios are not "
        "changed. Then the trials of all groups are pooled"
    )


def _figure(evaluated):
    joined = evaluated.trials
    measured = evaluation.verification(
        joined.scores, joined.genuine, people=joined.people, bootstrap=pooled.BOOTSTRAP
    )
    low, high = measured.intervals["eer"]
    return {
        "protocol": evaluated.method.name,
        "n": 1,
        "metric": "eer",
        "value": float(measured.eer),
        "stderr": float(high - low) / (2 * 1.96),
        "ci95": [float(low), float(high)],
        "trials": len(joined.scores),
        "people": int(np.unique(joined.probes).size),
        "folds": [_eer(part) for part in evaluated.parts],
    }


def _eer(part):
    return float(evaluation.verification(part.scores, part.genuine).eer)


def _describe_figures(trained):
    methods = "; ".join(f"{each.method.name}: {each.method.what}" for each in trained.evaluations)
    return (
        "The table shows the EER of each method on the same groups of people. One threshold is "
        "used for all groups. The range is from the smallest to the largest EER of a single group. "
        f"This file uses {trained.method.name}, which has the best EER in this table. The best of "
        "several EERs is too optimistic, so expect the error rates of the main result. "
        f"{methods}."
    )


def _baseline(best, evaluated, trained):
    """Compares another method with the method `trained`, on the same trials."""
    method = evaluated.method
    kind = pooled.INSTEAD if method.is_network or method.weights else pooled.NO_NETWORK
    if method.base == trained.base:
        kind = pooled.SAME_MODEL
    return pooled.baseline(best, method.name, method.what, kind, evaluated.trials.scores)


def _limits(task, evaluations):
    limits = []
    if evaluations:
        measured = int(np.unique(evaluations[0].trials.probes).size)
        limits.append(
            "The imposters of a person are the other people of the same group, which has about "
            f"{measured // len(evaluations[0].parts)} people. People outside the group may be more "
            "similar to the person, and strangers from other places may be less similar."
        )
    if task.repeats == "blocks":
        limits.append(
            "All recordings of a person are from one session, or the sessions are unknown, so the "
            "figures do not cover recordings of other days. To measure other days, use folders "
            "person/session/recording."
        )
    limits.append(
        f"Figures and thresholds apply to windows of {task.length_in_words}. Cut longer recordings "
        "into windows, or calibrate on recordings that are as long as the recordings that you "
        "compare."
    )
    limits.append(
        "The card contains data about the people. Protect the folder as you protect their "
        "recordings."
    )
    return limits


def _join(channels):
    names = [*channels[: SHOWN - 1], "..."] if len(channels) > SHOWN else channels
    return ", ".join(names)
