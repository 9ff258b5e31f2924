"""How many steps the trainings of a network may take in the minutes that there are."""

from __future__ import annotations

import collections
import math
import statistics
import time

from keras_dml._backend import keras

MEASURED = 4  # steps, behind the first one, which compiles
RESERVE = 0.85  # of the time; the rest is for measuring, and for steps that take longer
MOST, FEWEST = 2000, 60  # steps; more learn few people by heart, fewer teach nothing
LATELY = 5  # epochs whose median is what a step takes: one that was held up says little
AT_THE_END = 1  # times what a training takes beside its steps, for exports and the card
LATE = 0.1  # of the time, by which a network may be late that has begun, sooner than be left out


class TooSlow(RuntimeError):
    """The time that is left is too short for the trainings that a network still needs."""


class Budget:
    """The steps of trainings that share the time that is left.

    Each takes the steps that were planned as long as all that remain end in time by what steps took
    lately. Else the time that is left is spread over them evenly, and a training under way goes on
    to fewer steps.

    Args:
        seconds_left: Function that gives the seconds that are left.
        trainings: Number of trainings; the last one is made at any rate.
        start: Seconds that a training takes beside its steps.
        step: Seconds of a step.
        planned: Steps of each training; None: what the time allows.

    Attributes:
        planned: Steps of each training, 0 where the time is too short for any to learn something.
    """

    def __init__(self, seconds_left, trainings, start, step, planned=None):
        self._seconds_left, self._trainings = seconds_left, trainings
        self._start, self._paces = start, collections.deque([step], maxlen=LATELY)
        self._late = LATE * seconds_left()
        self._began = self._since = None
        self._in_steps, self._starts = 0.0, 0
        if planned is None:
            steps = min(MOST, self._even())
            planned = steps if steps >= FEWEST else 0
        self.planned = planned

    def begin(self, noted=None):
        """Steps of the next training.

        Args:
            noted: Steps that it was begun with, where it is gone on with.

        Raises:
            TooSlow: If the time is too short for it and those that remain.
        """
        now = time.monotonic()
        if self._began is not None:
            self._trainings -= 1
            beside = now - self._began - self._in_steps
            self._start = max(0.0, beside / max(1, self._starts))
        self._began = self._since = now
        self._in_steps, self._starts = 0.0, 0
        return self._fitting(self.planned) if noted is None else noted

    def took(self, steps, seconds=None):
        """Notes an epoch.

        Args:
            steps: Its steps.
            seconds: Seconds that it took; None of a first one, which compiles.
        """
        if seconds is None:
            self._starts += 1
            seconds = steps * self._step
            self._start = max(self._start, time.monotonic() - self._since - seconds)
        else:
            self._paces.append(seconds / steps)
        self._in_steps += seconds

    def fewer(self, steps, done, epoch):
        """Fewer steps for the training under way; None where it is to go on as it is.

        Args:
            steps: Its steps.
            done: Those of them that are done.
            epoch: Steps of an epoch; at least one is left, in which the learning rate ends.

        Raises:
            TooSlow: See `begin`.
        """
        found = max(self._fitting(steps, done), done + epoch)
        if (steps - found) * self._step <= self._start:  # to begin again takes longer
            return None
        self._since = time.monotonic()
        return found

    @property
    def _step(self):
        return statistics.median(self._paces)

    def _fitting(self, wanted, done=0):
        if self._is_in_time(wanted, done, late=0):
            return wanted
        found = self._even(done)
        is_left_out = self._trainings > 1 and not self._is_in_time(FEWEST, done, self._late)
        if found < FEWEST and is_left_out:
            raise TooSlow
        return max(found, FEWEST)

    def _is_in_time(self, steps, done, late):
        starts = self._start * (self._trainings + AT_THE_END - (done > 0))
        return starts + self._step * (steps * self._trainings - done) <= self._seconds_left() + late

    def _even(self, done=0):
        starts = self._start * (self._trainings + AT_THE_END)
        steps = (RESERVE * self._seconds_left() - starts) / self._step + done
        return int(steps / self._trainings)


class Watch(keras.callbacks.Callback):
    """Tells a budget what epochs take, and stops a training that is to take fewer steps.

    Args:
        budget: `Budget`.
        steps: Steps of the training.
        epoch: Steps of an epoch.

    Attributes:
        fewer: Steps that the training is to go on to, once it is stopped; else None.
    """

    def __init__(self, budget, steps, epoch):
        super().__init__()
        self._budget, self._steps, self._epoch = budget, steps, epoch
        self._last, self.fewer = None, None

    def on_epoch_end(self, epoch, logs=None):
        now = time.monotonic()
        self._budget.took(self._epoch, None if self._last is None else now - self._last)
        self._last = now
        self.fewer = self._budget.fewer(self._steps, (epoch + 1) * self._epoch, self._epoch)
        if self.fewer is not None:
            self.model.stop_training = True


def of_network(seconds_left, method, task, people, trainings, planned=None):
    """The budget of a network, by the time that a few steps take.

    Args:
        seconds_left: Function that gives the seconds that are left.
        method: A network, `keras_dml.training.own.methods.Method`.
        task: `keras_dml.training.own.task.Task`.
        people: `keras_dml.training.People` to train on.
        trainings: Number of trainings, that of all people the last one.
        planned: See `Budget`.
    """
    if seconds_left() <= 0 and planned is None:
        return without_end(trainings, 0)
    return Budget(seconds_left, trainings, *_times(method, task, people), planned)


def without_end(trainings, steps):
    """The budget of trainings that take the steps that were asked for, whatever the time.

    Args:
        trainings: Number of trainings.
        steps: Steps of each.
    """
    return Budget(lambda: math.inf, trainings, 0.0, 0.0, steps)


def _times(method, task, people):
    """Seconds of the first step beyond those of another one, and of another one."""
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
