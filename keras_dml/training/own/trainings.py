"""The trainings of a network, each with its steps, which whoever goes on with them takes again."""

from __future__ import annotations

import functools

from keras_dml.training.own import budget, choice
from keras_dml.training.own.methods import Run

FINAL = "final"


class Trainings:
    """The trainings of a network: without groups of people, then of all of them.

    Args:
        work: `keras_dml.training.own.unfinished.Unfinished`, begun.
        limit: `keras_dml.training.own.budget.Budget`.
    """

    def __init__(self, work, limit):
        self._work, self._limit = work, limit

    def run(self, *left_out):
        """The `Run` of a training.

        Args:
            *left_out: Indices of the groups that it is made without; none: of all people.

        Raises:
            TooSlow: If the time that is left is too short for it, see `Budget`.
        """
        name = "_".join(["fold", *(str(i + 1) for i in left_out)]) if left_out else FINAL
        note = functools.partial(self._work.note, name)
        steps = self._limit.begin(self._work.taken.get(name))
        note(steps)
        return Run(self._work.part(name), steps, self._work.resume, self._limit, note)

    def in_words(self, name):
        """What is to be said where they took other steps than were planned, a list of sentences.

        Args:
            name: Name of the network.
        """
        taken, planned = self._work.taken, self._work.steps
        if set(taken.values()) <= {planned}:
            return []
        measured = [steps for training, steps in taken.items() if training != FINAL]
        fewest, most = min(measured), max(measured)
        counts = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
        own = f", that of all people {taken[FINAL]:,}" if FINAL in taken else ""
        return [
            f"The machine became slower on the way: of the {planned:,} steps that were planned for "
            f"each model of {name}, those that are measured took {counts}{own}."
        ]


def begun(work, task, people, groups, network, steps, seconds_left):
    """The trainings of a network, their steps found and noted.

    Args:
        work: `keras_dml.training.own.unfinished.Unfinished`.
        task: `keras_dml.training.own.task.Task`.
        people: `keras_dml.training.People` to train on.
        groups: List of groups, see `keras_dml.training.own.across.divided`.
        network: `keras_dml.training.own.methods.Method`.
        steps: Steps of each training; None: what the time allows.
        seconds_left: Function that gives the seconds that are left.

    Returns:
        `Trainings`.
    """
    count = len(groups) + len(choice.pairs(len(groups), is_long=True)) + 1
    if steps is None:
        limit = budget.of_network(seconds_left, network, task, people, count, work.steps)
    else:
        limit = budget.without_end(count, steps)
    if work.steps is None:
        work.begin(limit.planned)
    return Trainings(work, limit)
