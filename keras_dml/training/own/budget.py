"""Computes how many steps the training of each network may take in the remaining time."""

from __future__ import annotations

import collections
import math
import statistics
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from keras_dml._backend import keras

if TYPE_CHECKING:
    from keras_dml.training.own.methods import Method
    from keras_dml.training.own.task import Task
    from keras_dml.training.people import People

MEASURED = 4  # number of timed steps after the first step, which also compiles the model
RESERVE = 0.85  # fraction of the time for training; the rest is for measurements and slower steps
# limits of the number of steps: with more steps, a network overfits if there are few people, and
# with fewer steps, a network learns nothing
MOST, FEWEST = 2000, 60
# number of recent epochs over which the median duration of a step is computed, because the machine
# may interrupt an epoch
LATELY = 5
AT_THE_END = 1  # time for exports and the card, as a multiple of the start-up time of a training
LATE = 0.1  # fraction of the time by which a network may be late before it is left out


class TooSlow(RuntimeError):
    """Error if the remaining time is too short for the trainings that a network still needs."""


class Budget:
    """Time budget that divides the remaining time among several trainings.

    If all remaining trainings can finish in time at the recent speed, each training takes the
    planned number of steps. If the remaining time is too short, the budget divides it evenly among
    the trainings, and a running training takes fewer steps.

    Args:
        seconds_left: Function that returns the remaining seconds.
        trainings: Number of trainings. The last training is never left out.
        start: Seconds that a training takes in addition to its steps.
        step: Seconds per step.
        planned: Number of steps of each training. Default: as many steps as the time allows.

    Attributes:
        planned: Number of steps of each training, or 0 if the time is too short for a useful
            training.
    """

    def __init__(
        self,
        seconds_left: Callable[[], float],
        trainings: int,
        start: float,
        step: float,
        planned: int | None = None,
    ) -> None:
        self._seconds_left, self._trainings = seconds_left, trainings
        self._start, self._paces = start, collections.deque([step], maxlen=LATELY)
        self._late = LATE * seconds_left()
        self._began = self._since = None
        self._in_steps, self._starts = 0.0, 0
        if planned is None:
            steps = min(MOST, self._even_steps())
            planned = steps if steps >= FEWEST else 0
        self.planned = planned

    def begin(self, resumed_steps: int | None = None) -> int:
        """Begins the next training and returns its number of steps.

        Args:
            resumed_steps: Number of steps of an interrupted training that is resumed. If None, a
                new training begins.

        Raises:
            TooSlow: If the time is too short for this training and all remaining trainings.
        """
        now = time.monotonic()
        if self._began is not None:
            self._trainings -= 1
            overhead = now - self._began - self._in_steps
            self._start = max(0.0, overhead / max(1, self._starts))
        self._began = self._since = now
        self._in_steps, self._starts = 0.0, 0
        return self._fitting_steps(self.planned) if resumed_steps is None else resumed_steps

    def record_epoch(self, steps: int, seconds: float | None = None) -> None:
        """Records the duration of an epoch.

        Args:
            steps: Number of steps in the epoch.
            seconds: Duration of the epoch. Use None for the first epoch of a training, because this
                epoch also compiles the model.
        """
        if seconds is None:
            self._starts += 1
            seconds = steps * self._step
            self._start = max(self._start, time.monotonic() - self._since - seconds)
        else:
            self._paces.append(seconds / steps)
        self._in_steps += seconds

    def fewer(self, steps: int, done: int, epoch: int) -> int | None:
        """Returns a smaller number of steps for the running training, or None to keep the number.

        Args:
            steps: Number of steps of the training.
            done: Number of steps that are finished.
            epoch: Number of steps per epoch. At least one more epoch is trained, in which the
                learning rate decays.

        Raises:
            TooSlow: If the time is too short for this training and all remaining trainings.
        """
        reduced = max(self._fitting_steps(steps, done), done + epoch)
        if (steps - reduced) * self._step <= self._start:  # a restart would cost more time
            return None
        self._since = time.monotonic()
        return reduced

    @property
    def _step(self):
        return statistics.median(self._paces)

    def _fitting_steps(self, wanted, done=0):
        if self._is_in_time(wanted, done, late=0):
            return wanted
        even = self._even_steps(done)
        is_left_out = self._trainings > 1 and not self._is_in_time(FEWEST, done, self._late)
        if even < FEWEST and is_left_out:
            raise TooSlow
        return max(even, FEWEST)

    def _is_in_time(self, steps, done, late):
        starts = self._start * (self._trainings + AT_THE_END - (done > 0))
        return starts + self._step * (steps * self._trainings - done) <= self._seconds_left() + late

    def _even_steps(self, done=0):
        starts = self._start * (self._trainings + AT_THE_END)
        steps = (RESERVE * self._seconds_left() - starts) / self._step + done
        return int(steps / self._trainings)


class Watch(keras.callbacks.Callback):
    """Callback that reports epochs to a budget and stops a training that must take fewer steps.

    Args:
        budget: Time budget, a `Budget`.
        steps: Number of steps of the training.
        epoch: Number of steps per epoch.

    Attributes:
        fewer: Reduced number of steps of the training. None if the number was not reduced.
    """

    def __init__(self, budget: Budget, steps: int, epoch: int) -> None:
        super().__init__()
        self._budget, self._steps, self._epoch = budget, steps, epoch
        self._last: float | None = None
        self.fewer: int | None = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        now = time.monotonic()
        self._budget.record_epoch(self._epoch, None if self._last is None else now - self._last)
        self._last = now
        self.fewer = self._budget.fewer(self._steps, (epoch + 1) * self._epoch, self._epoch)
        if self.fewer is not None:
            self.model.stop_training = True


def measured_budget(
    seconds_left: Callable[[], float],
    method: Method,
    task: Task,
    people: People,
    trainings: int,
    planned: int | None = None,
) -> Budget:
    """Creates the budget of a network from the measured duration of a few steps.

    Args:
        seconds_left: Function that returns the remaining seconds.
        method: The network, a `Method`.
        task: Task of the training.
        people: `People` with the recordings to train on.
        trainings: Number of trainings. The last training uses all people.
        planned: See `Budget`.
    """
    if seconds_left() <= 0 and planned is None:
        return fixed_budget(trainings, 0)
    return Budget(seconds_left, trainings, *_measure_times(method, task, people), planned)


def fixed_budget(trainings: int, steps: int) -> Budget:
    """Creates a budget without a time limit, for a given number of steps.

    Args:
        trainings: Number of trainings.
        steps: Number of steps of each training.
    """
    return Budget(lambda: math.inf, trainings, 0.0, 0.0, steps)


def _measure_times(method, task, people):
    """Returns the additional seconds of the first step, and the seconds of each later step."""
    keras.utils.set_random_seed(task.seed)
    learner = method.learner(task, people, FEWEST)
    learner.model.compile(learner.optimization.optimizer(FEWEST), **learner.compiled)
    times = []
    for i in range(1 + MEASURED):
        start = time.monotonic()
        learner.model.train_on_batch(*learner.batches[i % len(learner.batches)])
        times.append(time.monotonic() - start)
    step = statistics.median(times[1:])
    return max(0.0, times[0] - step), step
