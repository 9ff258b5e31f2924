"""Tests that a training keeps its time limit if the machine becomes slower.

The tests use a simulated clock.
"""

import json
import types

import pytest

from keras_dml import training
from keras_dml._backend import keras
from keras_dml.training.own import _train, budget, kinds, methods
from tests.training.own import conftest
from tests.training.own.test_task import SMALL

EPOCH, STEP = 20, 0.5  # steps per epoch; seconds per step
MINUTES, PLANNED = 5, 170  # planned steps of three trainings: without each group, and on all people


class Clock:
    """Clock that counts the seconds of training steps."""

    now, step = 0.0, STEP

    def monotonic(self):
        return self.now


class Fit:
    """Replacement for `training.fit` that trains nothing, but calls the callbacks.

    The training named `stop_at` raises KeyboardInterrupt.
    """

    def __init__(self, clock):
        self.clock, self.done, self.asked, self.stop_at = clock, {}, [], None

    def __call__(self, model, batches, *, steps, folder, resume, callbacks, **_):
        if folder.name == self.stop_at:
            raise KeyboardInterrupt
        self.asked.append((folder.name, steps))
        (folder / "checkpoint").mkdir(parents=True, exist_ok=True)
        (folder / "checkpoint" / "progress.json").touch()
        done = self.done.get(folder.name, 0) if resume else 0
        watch = callbacks[-1]
        watch._epoch = EPOCH
        watch.set_model(types.SimpleNamespace(stop_training=False))
        while done < steps and not watch.model.stop_training:
            self.clock.now += EPOCH * self.clock.step
            done += EPOCH
            watch.on_epoch_end(done // EPOCH - 1)
        self.done[folder.name] = done


@pytest.fixture
def clock(monkeypatch):
    """Makes a network the only method, and returns a clock that advances with its steps."""
    found = Clock()
    monkeypatch.setitem(kinds._METHODS, "sequences", lambda task: [conftest.NETWORK])
    monkeypatch.setattr(budget, "_measure_times", lambda *_: (0.0, STEP))
    for module in (_train, budget):
        monkeypatch.setattr(module, "time", found)
    return found


@pytest.fixture
def fit(monkeypatch, clock):
    found = Fit(clock)
    monkeypatch.setattr(training, "fit", found)
    return found


@pytest.mark.slow
def test_the_time_limit_holds_and_the_card_gives_the_reduced_steps(train, clock, fit):
    clock.step = 2.5 * STEP  # slower than when the duration of a step was measured
    found = train(steps=None, minutes=MINUTES)
    assert clock.now <= 1.2 * 60 * MINUTES
    (said,) = [
        limit for limit in found.card["limits"] if "became slower during the training" in limit
    ]
    assert f"{PLANNED} steps were planned for each model of qp_wl" in said
    own = int(said.split("trained on all people took ")[1].removesuffix(" steps."))
    assert fit.asked[-1] == ("final", own) and 60 <= own < PLANNED
    assert f"steps={own}," in found.card["recipe"]["command"]


@pytest.mark.slow
def test_the_card_has_no_note_if_the_time_is_enough(train, clock, fit):
    found = train(steps=None, minutes=MINUTES)
    assert fit.asked == [(name, PLANNED) for name in ("fold_1", "fold_2", "final")]
    assert not any("slower" in one for one in found.card["limits"])


@pytest.mark.slow
def test_a_network_that_has_become_too_slow_is_left_out(train, clock, fit, monkeypatch):
    both = [conftest.sequences.as_recorded(), conftest.NETWORK]
    monkeypatch.setitem(kinds._METHODS, "sequences", lambda task: both)
    clock.step = 10 * STEP
    found = train(steps=None, minutes=MINUTES)
    assert clock.now <= 1.2 * 60 * MINUTES and found.method == "log_euclidean"
    assert "steps=0," in found.card["recipe"]["command"]
    assert any(
        "qp_wl was left out, because the machine became" in one for one in found.card["limits"]
    )


@pytest.mark.slow
def test_a_resumed_training_keeps_the_steps_of_begun_trainings(train, clock, fit, tmp_path):
    """The first training becomes slower than planned, and the second training is interrupted."""
    clock.step, fit.stop_at = 2.5 * STEP, "fold_2"
    with pytest.raises(KeyboardInterrupt):
        train(steps=None, minutes=MINUTES)
    plan = json.loads((tmp_path / "phone" / "unfinished" / "plan.json").read_text())
    assert fit.asked[0] == ("fold_1", PLANNED) and plan["steps"] == PLANNED
    assert dict(fit.asked) == {"fold_1": plan["taken"]["fold_1"]}
    assert list(plan["taken"]) == ["fold_1", "fold_2"] and max(plan["taken"].values()) < PLANNED
    clock.now, clock.step, fit.stop_at, fit.asked = 0.0, STEP, None, []
    found = train(steps=None, minutes=MINUTES, resume=True)
    assert fit.asked == [*plan["taken"].items(), ("final", PLANNED)]
    assert f"trained on all people took {PLANNED} steps." in " ".join(found.card["limits"])


def test_reduced_steps_continue_from_the_checkpoint_and_end_the_decay(tmp_path, monkeypatch):
    recordings, subjects = conftest.recordings_of(2)
    people = training.People(recordings, subjects, [1, 1, 2, 2] * 2)
    limit, noted, seen = budget.fixed_budget(1, 8), [], []
    limit.begin(8)
    fewer = {(8, 4): 6}  # after 4 of 8 steps, the training is reduced to 6 steps
    monkeypatch.setattr(limit, "fewer", lambda steps, done, epoch: fewer.get((steps, done)))

    def learner(task, known, steps):
        small = conftest.small_network(task, known, steps)

        def see(epoch, logs):
            optimizer = small.model.optimizer
            seen.append((int(optimizer.iterations), float(optimizer.learning_rate)))

        return small._replace(callbacks=(keras.callbacks.LambdaCallback(on_epoch_end=see),))

    method = methods.Method("qp_wl", "", "", learner=learner)
    method.model(SMALL, people, methods.Run(tmp_path, 8, False, limit, noted.append))
    steps, rates = zip(*seen, strict=True)
    assert noted == [6] and steps == (2, 4, 6)
    assert rates[2] < 0.05 * rates[0]


@pytest.mark.slow
def test_a_training_of_other_methods_is_not_resumed(train, fit, monkeypatch):
    """The methods can change, for example if the voice encoder of the zoo is removed before the
    training is resumed.
    """
    of_sequences = [conftest.sequences.as_recorded(), conftest.NETWORK]
    monkeypatch.setitem(kinds._METHODS, "sequences", lambda task: of_sequences)
    fit.stop_at = "fold_2"
    with pytest.raises(KeyboardInterrupt):
        train(steps=PLANNED)
    monkeypatch.setitem(kinds._METHODS, "sequences", lambda task: of_sequences[1:])
    with pytest.raises(ValueError, match="log_euclidean, qp_wl, .* compares qp_wl"):
        train(steps=PLANNED, resume=True)
    monkeypatch.setitem(kinds._METHODS, "sequences", lambda task: of_sequences)
    fit.stop_at = None
    assert train(steps=PLANNED, resume=True).leaderboard
    assert [name for name, _ in fit.asked] == ["fold_1", "fold_1", "fold_2"]
