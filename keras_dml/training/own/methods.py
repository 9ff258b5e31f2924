"""Describes methods that make a model from recordings: closed-form methods and networks."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from keras_dml import scoring as scorings
from keras_dml import training
from keras_dml._backend import keras
from keras_dml.training import two_covariance
from keras_dml.training.own.budget import Budget, Watch

if TYPE_CHECKING:
    from keras_dml.training.own.task import Task


class Run(NamedTuple):
    """Settings for training a network once.

    Attributes:
        folder: Folder of the checkpoint.
        steps: Number of training steps.
        resume: Whether to continue from the checkpoint.
        budget: Time budget, which may reduce the number of steps during the training.
        set_steps: Function that stores a reduced number of steps.
    """

    folder: pathlib.Path
    steps: int
    resume: bool
    budget: Budget
    set_steps: Callable[[int], None]


class Learner(NamedTuple):
    """A network with its batches and optimizer, ready for training.

    Attributes:
        encoder: The `keras.Model` that becomes the result.
        model: Model that is trained, either the encoder itself or a model that contains the
            encoder.
        batches: A sampler of `keras_dml.samplers`.
        optimization: `keras_dml.training.Optimization`.
        compiled: Further arguments of `model.compile`.
        callbacks: Callbacks of `keras_dml.training.fit`.
    """

    encoder: keras.Model
    model: keras.Model
    batches: keras.utils.PyDataset
    optimization: training.Optimization
    compiled: dict[str, Any]
    callbacks: tuple[Any, ...] = ()


@dataclasses.dataclass(frozen=True)
class Method:
    """A method that makes a model from recordings of people.

    Attributes:
        name: Name of the method as in the zoo, such as `lda` or `qp_wl`.
        what: Short description.
        paper: Source of the method, which the card cites.
        fit: Function that takes a `Task` and `People` and returns a model. If the method is a
            network, `fit` is None.
        learner: Function that takes a `Task`, `People` and a number of steps and returns a
            `Learner`. If the method is a closed-form method, `learner` is None.
        learns: Whether the method needs to know which person made each recording.
        weights: Origin and license of pretrained weights, or None if the method has no pretrained
            weights.
        scoring: Name of the scoring that compares the recordings, see `keras_dml.scoring`.
    """

    name: str
    what: str
    paper: str
    fit: Callable[..., Any] | None = None
    learner: Callable[..., Any] | None = None
    learns: bool = True
    weights: str | None = None
    scoring: str = scorings.DEFAULT

    def with_scoring(self, scoring: str) -> Method:
        """Returns the method with another scoring.

        Args:
            scoring: Name of the scoring.
        """
        return dataclasses.replace(
            self,
            name=f"{self.name}_{scoring}",
            what=f"{self.what}; score: {scorings.get(scoring).text}",
            scoring=scoring,
        )

    @property
    def base(self) -> str:
        """Name of the method with the scoring `nearest`."""
        return self.name.removesuffix(f"_{self.scoring}")

    @property
    def is_network(self) -> bool:
        """True if the method is a network, which is trained in steps."""
        return self.learner is not None

    def model(self, task: Task, people: training.People, run: Run | None = None) -> keras.Model:
        """Makes a model from recordings of people.

        Args:
            task: Task of the training.
            people: Complete recordings, not windows.
            run: Settings of the training, needed only if the method is a network.

        Returns:
            The model. With the scoring `two_covariance`, the last layer is `TwoCovariance`.
        """
        model = self._encoder(task, people, run)
        if self.scoring != scorings.TwoCovariance.name:
            return model
        windows = task.to_measure(people)
        return two_covariance.two_covariance_model(model, windows.signals, windows.subjects)

    def _encoder(self, task, people, run):
        if not self.is_network:
            keras.utils.set_random_seed(task.seed)
            return self.fit(task, people)
        steps, resume = run.steps, run.resume
        while True:
            keras.utils.set_random_seed(task.seed)
            learner = self.learner(task, people, steps)
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
            run.set_steps(watch.fewer)
            # Continue from the checkpoint. The learning rate now decays over the reduced number of
            # steps.
            steps, resume = watch.fewer, True


def optimization(learning_rate: float, steps: int) -> training.Optimization:
    """Returns settings of Adam that scale with the number of steps.

    The warm-up takes at most a fifth of the steps. The moving average of the weights (EMA) covers a
    tenth of the steps.

    Args:
        learning_rate: Largest learning rate.
        steps: Number of training steps.
    """
    return training.Optimization(
        learning_rate,
        warm_up=min(100, steps // 5),
        start=0.01,
        average=float(np.clip(1 - 10 / steps, 0.5, 0.99)),
    )
