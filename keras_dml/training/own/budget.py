"""How many steps a network may take in the minutes that there are."""

from __future__ import annotations

import statistics
import time

from keras_dml._backend import keras

MEASURED = 4  # steps, behind the first one, which compiles
RESERVE = 0.85  # of the time; the rest is for measuring, and for steps that take longer
MOST, FEWEST = 2000, 60  # steps; more learn few people by heart, fewer teach nothing


def steps_within(seconds, method, task, people, trainings):
    """Steps of each training, by the time that a few of them take.

    Args:
        seconds: Seconds for all trainings.
        method: A network, `keras_dml.training.own.methods.Method`.
        task: `keras_dml.training.own.task.Task`.
        people: `keras_dml.training.People` to train on.
        trainings: Number of trainings.

    Returns:
        Steps, 0 where they would be too few to learn anything.
    """
    if seconds <= 0:
        return 0
    start, step = _times(method, task, people)
    left = RESERVE * seconds - (trainings + 1) * start - MEASURED * step
    steps = min(MOST, int(left / (trainings * step)))
    return steps if steps >= FEWEST else 0


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
