"""The card of a model of one's own: what it takes, what was measured, and what so few people
support."""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_dml import evaluation, quality
from keras_dml._backend import keras
from keras_dml.training import _card, page_tables, pooled
from keras_dml.training.own import across, choice
from keras_dml.training.own.methods import Method
from keras_dml.training.own.task import Task
from keras_dml.training.people import People
from keras_dml.zoo import catalog, pseudonyms

FARS = pooled.FARS
SHOWN = 6  # channels
BUILDER = "recordings of one's own"
LICENCE = (
    "The recordings are your own, and so are the weights; what people agreed to holds for both."
)
CARRIED = (
    "This file is made with all people at hand, so each threshold is carried over: it is that of "
    "the groups' models, in units of the median distance between two people whom a model knows, "
    "times the unit of this file. Its TAR is that of people whom the model had not seen, method "
    "and threshold found on other groups as the headline's methods are; the interval of its FAR "
    "covers theirs and what so many people support. Calibrate on people whom this file does not "
    "know where you can."
)
CONSENT = (
    "Not recorded here. Enroll and train only with people who have agreed to be recognized, and "
    "tell them how to withdraw: a model that has seen somebody must be trained again without them."
)


@dataclasses.dataclass(frozen=True, eq=False)
class Made:
    """A model and what is known of it.

    Attributes:
        task: `keras_dml.training.own.task.Task`.
        people: `keras_dml.training.People` trained on, in sides.
        method: `keras_dml.training.own.methods.Method` of the model.
        model: The `keras.Model`.
        scored: `across.Scored` of each method; empty where the people are too few.
        notes: Sentences of what happened on the way.
        unmeasured: Why there is no figure, in words; None where there are some.
        name_people: Whether the card lists the names of the people.
    """

    task: Task
    people: People
    method: Method
    model: keras.Model
    scored: list
    notes: list
    unmeasured: str | None = None
    name_people: bool = False


def few(people, measurable):
    """Why no rate is given, in words."""
    return (
        f"No error rate is given: {people} {'person is' if people == 1 else 'people are'} at hand, "
        f"{measurable} with "
        f"recordings to enroll and to observe, and at least {across.FEWEST} are needed to measure "
        "one. Nothing promises that this model tells people apart; record more of them."
    )


def support(one):
    """What false accept rates the people support.

    Args:
        one: `across.Scored` of the method that is chosen.

    Returns:
        Dict of `people`, `independent`, the number of independent pairs of people that their trials
        are worth, `strictest`, the lowest rate that these support (rule of three, 95 %), and
        `people_needed` for lower ones, the fewest and the most, by their text.
    """
    found = across.supported(one, FARS[0])
    return {
        "people": found.people,
        "independent": round(found.independent, 1),
        "strictest": found.strictest,
        "people_needed": {
            f"{far:g}": list(found.people_needed(far)) for far in FARS if far < found.strictest
        },
    }


def support_in_words(found):
    """`26 people ... support a false accept rate of 7.5 % and more. Lower ones take ...`"""
    needed = ", ".join(
        f"{100 * float(far):g} % {catalog.people_in_words(count)}"
        for far, count in found["people_needed"].items()
    )
    beyond = (
        f" Lower ones take more people ({needed}); thresholds for them are read off a model of the "
        "tail, which is no promise."
    )
    return (
        f"{found['people']} people in groups are worth {found['independent']:.0f} independent "
        f"pairs and support a false accept rate of {page_tables.rounded_up(found['strictest'])} "
        f"and more.{beyond if needed else ''}"
    )


def build(made, gate, command, minutes):
    """The card without what `publish` reads from the model.

    Args:
        made: `Made`.
        gate: The card's `quality`.
        command: How to train it again.
        minutes: Minutes of training.

    Returns:
        Dict by `keras_dml.zoo.schema.CARD`, but for the name.
    """
    task, scored = made.task, made.scored
    about = {
        "task": f"tell people apart by {_listed(task.channels)}: a model of one's own",
        "paper": made.method.paper,
        "input": {
            "channels": list(task.channels),
            "units": list(task.units),
            "rate_hz": task.rate_hz,
            "dtype": "float32",
            "length": [task.window, None],
        },
        "data": {
            "builder": BUILDER,
            "licence": made.method.weights or LICENCE,
            **_people(made),
            "test_subjects": [],
            "consent": CONSENT,
        },
        "limits": [*_limits(task, scored), *made.notes],
        quality.CARD_KEY: gate,
        "is_own": True,
        "recipe": _card.training_record(command, seed=task.seed, minutes=minutes),
    }
    if not scored:
        unmeasured = {"headline": {"unmeasured": made.unmeasured}, "figures": [], "baselines": []}
        return about | unmeasured
    own = choice.chosen_trials(scored)
    supported = support(_own(made))
    return {
        **about,
        "limits": [support_in_words(supported), *about["limits"]],
        "headline": {"trials": _trials(task), "repeats": task.repeats, **pooled.headline(own)},
        "choice": choice.in_words(scored),
        "figures": [_figure(one) for one in scored],
        "figures_are": _figures_are(made),
        "baselines": [_baseline(own, one) for one in scored if one.method != made.method],
        **thresholds(made),
        "support": supported,
    }


def _people(made):
    """The card's entries about the people; numbers unless their names were asked for."""
    names = sorted(set(made.people.subjects))
    return {"train_subjects": names} if made.name_people else pseudonyms.numbered(names)


def thresholds(made):
    """The card's `thresholds` and `imposters`, carried over from the models of the groups to the
    model of all people.

    Args:
        made: `Made`.
    """
    one = _own(made)
    chosen = choice.best_elsewhere(made.scored)
    carried = {far: across.threshold(one, chosen, far) for far in FARS}
    carried = {far: found for far, found in carried.items() if found is not None}
    windows = across.for_unit(made.task, made.people)
    unit, offset = across.unit(made.model, windows, across.Embedder()), across.offset(made.model)
    rows = [
        {
            "far": far,
            "value": float(certified.threshold * unit - offset),
            "trials": certified.trials,
            "tar": float(rates.tar),
            "tar_ci95": list(map(float, rates.tar_ci95)),
            "score": pooled.SCORE,
            "enrolled": int(np.median(one.joined.enrolled)),
            "people": certified.people,
            "method": certified.method,
            "certificate": {
                **pooled.certificate(certified, far),
                "ci95": [
                    float(min(certified.ci95[0], rates.far_ci95[0])),
                    float(max(certified.ci95[1], rates.far_ci95[1])),
                ],
            },
            "carried": CARRIED,
        }
        for far, (certified, rates) in carried.items()
    ]
    return {"thresholds": rows, "imposters": pooled.imposters(one.joined, float(unit), offset)}


def _own(made):
    """`across.Scored` of the method that is chosen."""
    return next(one for one in made.scored if one.method == made.method)


def _trials(task):
    last = (
        "a person's last session against the nearest of everybody's earlier ones"
        if task.repeats == "sessions"
        else "the later half of a person's recordings against the nearest of everybody's earlier"
    )
    return (
        f"every window of {task.seconds:.3g} s of {last}, within groups of people, by a model that "
        "saw nobody of the group; all groups together, distances in units of the median between "
        "two people whom the model knows"
    )


def _figure(one):
    found = one.joined
    measured = evaluation.verification(
        found.scores, found.genuine, people=found.people, bootstrap=pooled.BOOTSTRAP
    )
    low, high = measured.intervals["eer"]
    return {
        "protocol": one.method.name,
        "n": 1,
        "metric": "eer",
        "value": float(measured.eer),
        "stderr": float(high - low) / (2 * 1.96),
        "ci95": [float(low), float(high)],
        "trials": len(found.scores),
        "people": int(np.unique(found.probes).size),
        "folds": [_eer(part) for part in one.parts],
    }


def _eer(part):
    return float(evaluation.verification(part.scores, part.genuine).eer)


def _figures_are(made):
    listed = "; ".join(f"{one.method.name}: {one.method.what}" for one in made.scored)
    return (
        "All methods that were tried, each on the same groups of people, the EER of all groups "
        "under one threshold; the range is that of single groups. This file is by "
        f"{made.method.name}, since it is best here: the best of several looks better than it is, "
        f"and the headline says what to expect. {listed}."
    )


def _baseline(own, one):
    by_network = one.method.is_network or one.method.weights
    kind = pooled.INSTEAD if by_network else pooled.NO_NETWORK
    return pooled.baseline(own, one.method.name, one.method.what, kind, one.joined.scores)


def _limits(task, scored):
    found = []
    if scored:
        measured = int(np.unique(scored[0].joined.probes).size)
        found.append(
            f"Imposters are the others of a group of {measured // len(scored[0].parts)} or so: "
            "other people may be nearer, and strangers of other places may be further."
        )
    if task.repeats == "blocks":
        found.append(
            "Recordings of a person are of one sitting, or are not told apart by session: other "
            "days are not measured. Give folders person/session/recording to measure them."
        )
    found.append(
        f"Figures and thresholds are of windows of {task.seconds:.3g} s: cut longer recordings, or "
        "calibrate on recordings as long as those that are compared."
    )
    found.append("The card names the people: keep the folder as you keep their recordings.")
    return found


def _listed(channels):
    shown = [*channels[: SHOWN - 1], "..."] if len(channels) > SHOWN else channels
    return ", ".join(shown)
