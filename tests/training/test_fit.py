"""Tests that `fit` follows the schedule, prints progress and resumes an interrupted training."""

import json

import numpy as np
import pytest

from keras_dml._backend import keras
from keras_dml.samplers import PKSampler
from keras_dml.training import Optimization, fit

QUICK = Optimization(1e-2, warm_up=2, average=0.9)


def model():
    """Returns a model with random states (dropout) and moving averages (batch normalization)."""
    keras.utils.set_random_seed(1)
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((6, 2)),
            layers.Flatten(),
            layers.Dense(8),
            layers.BatchNormalization(),
            layers.Dropout(0.3),
            layers.Dense(4),
        ]
    )


def batches():
    x = np.random.default_rng(0).normal(size=(16, 6, 2)).astype("float32")
    return PKSampler(x, np.repeat(np.arange(4), 4), 4, 2, steps=3, seed=5)


LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def train(folder=None, steps=9, resume=False, **given):
    one = model()
    fitted = fit(
        one, batches(), steps=steps, optimization=QUICK, folder=folder, resume=resume, loss=LOSS,
        **given,
    )  # fmt: skip
    return one, fitted


class Stop(keras.callbacks.Callback):
    """Interrupts the training at the end of an epoch, so that this epoch is not saved."""

    def __init__(self, epoch):
        super().__init__()
        self.epoch = epoch

    def on_epoch_end(self, epoch, logs=None):
        if epoch == self.epoch:
            raise KeyboardInterrupt


def same(one, other):
    for ours, theirs in zip(one.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_a_stopped_run_that_is_resumed_ends_where_one_run_does(tmp_path):
    whole, whole_fitted = train()
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, callbacks=[Stop(1)])
    progress = json.loads((tmp_path / "checkpoint" / "progress.json").read_text())
    assert len(progress["history"]) == 1
    resumed, fitted = train(tmp_path, resume=True)
    same(whole, resumed)
    assert fitted.minutes > progress["minutes"] > 0
    losses, expected = ([epoch["loss"] for epoch in one.history] for one in (fitted, whole_fitted))
    np.testing.assert_allclose(losses, expected, rtol=1e-5)


@pytest.mark.slow
def test_a_run_that_is_not_resumed_begins_anew(tmp_path):
    whole, _ = train()
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, callbacks=[Stop(1)])
    again, _ = train(tmp_path)
    same(whole, again)


@pytest.mark.slow
def test_a_run_of_the_same_seed_repeats_itself():
    (one, _), (other, _) = train(), train()
    same(one, other)


@pytest.mark.slow
def test_a_finished_run_is_only_loaded(tmp_path, capsys):
    whole, fitted = train(tmp_path)
    capsys.readouterr()
    again, later = train(tmp_path, resume=True)
    assert "step" not in capsys.readouterr().err
    kept = json.loads((tmp_path / "checkpoint" / "progress.json").read_text())
    assert later.minutes >= kept["minutes"] and later.history == fitted.history == kept["history"]
    same(whole, again)


@pytest.mark.slow
def test_a_save_that_is_interrupted_leaves_the_checkpoint_before(tmp_path, monkeypatch):
    train(tmp_path, steps=3)
    before = {path.name: path.read_bytes() for path in (tmp_path / "checkpoint").iterdir()}

    def interrupted(model, path):
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(keras.Sequential, "save_weights", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path, resume=True)
    assert {path.name: path.read_bytes() for path in (tmp_path / "checkpoint").iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]
    train(tmp_path, resume=True)


def test_other_files_are_not_replaced_by_a_checkpoint(tmp_path):
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="is not a checkpoint, so it was not changed"):
        train(tmp_path)
    assert (tmp_path / "checkpoint" / "notes.txt").read_text() == "mine"


def test_a_damaged_checkpoint_is_named_with_what_to_do(tmp_path):
    train(tmp_path, steps=3)
    (tmp_path / "checkpoint" / "progress.json").write_text("{")
    with pytest.raises(ValueError, match="progress.json is damaged .*Delete the folder"):
        train(tmp_path, resume=True)


def test_each_epoch_reports_step_loss_and_time_left(capsys):
    train(steps=7)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines] == ["3/9", "6/9", "9/9"]
    assert all("loss " in line and "min left" in line for line in lines)


def test_steps_must_be_positive():
    with pytest.raises(ValueError, match="`steps` is 0, but it must be at least 1"):
        train(steps=0)


def test_the_learning_rate_rises_linearly_and_falls_by_a_cosine():
    schedule = Optimization(0.2, warm_up=10, start=0.05).schedule(110)
    rates = np.array([float(schedule(step)) for step in range(111)])
    np.testing.assert_allclose(rates[:11], np.linspace(0.01, 0.2, 11), rtol=1e-5)
    cosine = 0.5 * (1 + np.cos(np.pi * np.arange(101) / 100))
    np.testing.assert_allclose(rates[10:], 0.2 * (0.99 * cosine + 0.01), rtol=1e-4)


@pytest.mark.slow
def test_weights_are_averaged_when_training_ends():
    averaged, _ = train()
    plain = model()
    plain_optimization = Optimization(1e-2, warm_up=2)
    fit(plain, batches(), steps=9, optimization=plain_optimization, loss=LOSS)
    assert not np.allclose(averaged.get_weights()[0], plain.get_weights()[0], rtol=0, atol=1e-4)


def test_weight_decay_is_that_of_adamw_and_gradients_are_clipped():
    optimizer = Optimization(1e-2, warm_up=2, weight_decay=0.1, clip_norm=1.0).optimizer(9)
    adamw = keras.optimizers.AdamW(
        Optimization(1e-2, warm_up=2).schedule(9), weight_decay=0.1, global_clipnorm=1.0
    )
    weights = [keras.Variable(np.ones(3, "float32")) for _ in range(2)]
    for one, weight in zip((optimizer, adamw), weights, strict=True):
        for _ in range(3):
            one.apply([keras.ops.ones(3) * 100], [weight])
    np.testing.assert_array_equal(*(keras.ops.convert_to_numpy(weight) for weight in weights))
