"""What tells people apart: methods in closed form and networks, of the kinds of recordings."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from keras_dml import training
from keras_dml._backend import keras
from keras_dml.training.own.budget import Budget, Watch


class Run(NamedTuple):
    """Where and how long a network is trained.

    Attributes:
        folder: Folder of its checkpoint.
        steps: Training steps.
        resume: Whether to go on from the checkpoint.
        budget: `keras_dml.training.own.budget.Budget`, which may give it fewer steps on the way.
        note: Function of these.
    """

    folder: pathlib.Path
    steps: int
    resume: bool
    budget: Budget
    note: Callable


class Learner(NamedTuple):
    """A network that is about to learn.

    Attributes:
        encoder: The `keras.Model` that is wanted.
        model: What `fit` takes, which may be the encoder itself.
        batches: A sampler.
        optimization: `keras_dml.training.Optimization`.
        compiled: Further arguments of `compile`.
        callbacks: Callbacks of `fit`.
    """

    encoder: keras.Model
    model: keras.Model
    batches: keras.utils.PyDataset
    optimization: training.Optimization
    compiled: dict
    callbacks: tuple = ()


@dataclasses.dataclass(frozen=True)
class Method:
    """A way to tell people apart.

    Attributes:
        name: As the zoo names methods: `lda`, `qp_wl`.
        what: What it is, in a few words.
        paper: What it rests on, for the card.
        fit: Function of a `Task` and the `People` known that gives a model; None for a network.
        learner: Function of a `Task`, the `People` known and a number of steps that gives a
            `Learner`; None for a closed form.
        learns: Whether anything is fitted to who is who.
        weights: Whose the weights are and under which license, where other people's recordings
            have trained them.
    """

    name: str
    what: str
    paper: str
    fit: Callable | None = None
    learner: Callable | None = None
    learns: bool = True
    weights: str | None = None

    @property
    def is_network(self):
        """Whether it is trained step by step."""
        return self.learner is not None

    def model(self, task, known, run=None):
        """A model of some people.

        Args:
            task: `Task`.
            known: `keras_dml.training.People`, whole recordings.
            run: `Run` of a network.
        """
        if not self.is_network:
            keras.utils.set_random_seed(task.seed)
            return self.fit(task, known)
        steps, resume = run.steps, run.resume
        while True:
            keras.utils.set_random_seed(task.seed)
            learner = self.learner(task, known, steps)
            watch = Watch(run.budget, steps, len(learner.batches))
            training.fit(
                learner.model,
                learner.batches,
                steps=steps,
                optimization=learner.optimization,
                folder=run.folder,
                resume=resume,
                callbacks=(*learner.callbacks, watch),
                **learner.compiled,
            )
            if watch.fewer is None:
                return learner.encoder
            run.note(watch.fewer)
            steps, resume = watch.fewer, True  # from the checkpoint, the learning rate for these


def optimization(learning_rate, steps):
    """Adam for a training of so many steps: the warm-up is a fifth of it at most, the average
    over a tenth of it.

    Args:
        learning_rate: Largest learning rate.
        steps: Training steps.
    """
    return training.Optimization(
        learning_rate,
        warm_up=min(100, steps // 5),
        start=0.01,
        average=float(np.clip(1 - 10 / steps, 0.5, 0.99)),
    )
