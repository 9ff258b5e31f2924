"""Tests that trainings keep their time budget if the machine becomes slower.

The tests use a simulated clock.
"""

import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml.training.own import budget
from keras_dml.training.own.budget import Budget, TooSlow, Watch

EPOCH, SECONDS = 25, 600.0  # steps per epoch; seconds of the budget


class Clock:
    """Clock of a machine whose work takes `factor` times longer after a given time."""

    def __init__(self, factor, since, until=float("inf")):
        self.now, self._factor, self._since, self._until = 0.0, factor, since, until

    def monotonic(self):
        return self.now

    def work(self, seconds):
        slow = self._since <= self.now < self._until
        self.now += seconds * (self._factor if slow else 1)


def trained(clock, trainings, step, start=5.0):
    """Returns the planned steps, and the steps of each training.

    If a training is too slow, this training and all later trainings are left out.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "time", clock)
        limit = Budget(lambda: SECONDS - clock.now, trainings, start, step)
        steps = list(_steps(clock, limit, trainings, step, start))
        clock.work(start)  # exports
        return limit.planned, steps


def _steps(clock, limit, trainings, step, start):
    for _ in range(trainings if limit.planned else 0):
        try:
            steps, done = limit.begin(), 0
            while steps is not None:
                taken, watch = steps, Watch(limit, steps, EPOCH)
                watch.set_model(types.SimpleNamespace(stop_training=False))
                clock.work(start)
                while done < steps and not watch.model.stop_training:
                    for _ in range(EPOCH):
                        clock.work(step)
                    done += EPOCH
                    watch.on_epoch_end(done // EPOCH - 1)
                steps = watch.fewer
        except TooSlow:
            return
        assert done >= taken
        yield taken


@given(
    st.floats(1, 2.5),
    st.floats(0, SECONDS),
    st.sampled_from([3, 7, 11]),
    st.floats(0.02, 0.3),
    st.floats(1, 30),
)
def test_a_slower_machine_exceeds_the_time_by_at_most_a_fifth(
    factor, since, trainings, step, start
):
    clock = Clock(factor, since)
    planned, steps = trained(clock, trainings, step, start)
    assert clock.now <= 1.2 * SECONDS
    assert all(budget.FEWEST <= one <= planned for one in steps)


@pytest.mark.parametrize("trainings", [3, 7, 11])
def test_all_trainings_run_at_less_than_half_the_speed(trainings):
    """On a real machine, this slowdown led to a training of 21.9 minutes instead of 10 minutes."""
    clock = Clock(2.5, since=1)
    planned, steps = trained(clock, trainings, step=0.05)
    assert len(steps) == trainings and clock.now <= SECONDS
    assert min(steps) > planned / 4
    assert max(steps[:-1]) < 1.5 * min(steps) and steps[-1] >= max(steps[:-1])


@pytest.mark.parametrize("slower", [1.0, 1.1])
def test_trainings_take_the_planned_steps_if_there_is_time(slower):
    planned, steps = trained(Clock(slower, since=1), 7, step=0.05)
    assert steps == [planned] * 7


def test_a_short_load_does_not_reduce_later_trainings():
    planned, steps = trained(Clock(3, since=100, until=130), 7, step=0.05)
    assert steps[-3:] == [planned] * 3


@pytest.mark.parametrize(
    ("seconds", "start", "step", "steps"),
    [(600, 10, 0.1, 733), (600, 10, 0.001, 2000), (60, 5, 0.5, 0), (0, 5, 0.5, 0)],
)
def test_steps_fill_the_time(monkeypatch, seconds, start, step, steps):
    monkeypatch.setattr(budget, "_measure_times", lambda *_: (start, step))
    assert budget.measured_budget(lambda: seconds, None, None, None, 6).planned == steps
