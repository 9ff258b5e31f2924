"""Tests training by the four methods of Abdelwahab2019, and resumed runs."""

import numpy as np
import pytest

from keras_dml.models.sequence_encoder import SIZES
from keras_dml.training import Optimization, People, measure
from zoo import recipe, sequences


def walkers(rng, people=5, each=3, steps=80):
    """Simulates sine waves in three channels, with another frequency for each person."""
    subjects = [f"{person}" for person in range(people) for _ in range(each)]
    signals = [
        np.sin(np.arange(steps)[:, None] * (0.2 + 0.1 * int(one)) + rng.uniform(0, 6, 3))
        for one in subjects
    ]
    signals = [signal.astype("float32") for signal in signals]
    return People(signals, subjects, [i % each for i in range(len(subjects))])


def quick(monkeypatch):
    """Reduces training to two steps per epoch and the network to two convolutions."""
    monkeypatch.setitem(SIZES, "edge", (4, 6))
    monkeypatch.setattr(sequences, "STEPS_PER_EPOCH", 2)


def trained(method, people, steps, out, resume=False):
    run = recipe.Run("walkers", out, out, steps, 3, resume)
    encoder = sequences.train(
        run,
        method,
        people,
        batches={"pairs": 4, "length": 64, "augment": lambda batch, rng: batch},
        optimization=Optimization(1e-3, warm_up=1, average=0.99),
    )
    assert run.minutes > 0
    return encoder


@pytest.mark.slow
@pytest.mark.parametrize("method", sequences.METHODS)
def test_each_method_trains_an_encoder_that_tells_distances(method, rng, tmp_path, monkeypatch):
    quick(monkeypatch)
    people = walkers(rng)
    encoder = trained(method, people, 2, tmp_path)
    table = measure.pairwise_distances(encoder, people.signals)
    assert table.shape == (15, 15) and np.isfinite(table).all()
    flat = method != "qp_wl"
    assert len(encoder.output_shape) == (2 if flat else 3)


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match="Received method='qp'.*qp_npl"):
        sequences.build_encoder("qp", 3)


@pytest.mark.slow
def test_a_resumed_run_ends_where_one_run_does(rng, tmp_path, monkeypatch):
    quick(monkeypatch)
    people = walkers(rng)
    whole = trained("qp_wl", people, 4, tmp_path / "whole")
    fit = sequences.keras.Model.fit

    def stopped(model, *given, **options):
        """Simulates a power failure after the first of two epochs."""
        fit(model, *given, **{**options, "epochs": 1})
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(sequences.keras.Model, "fit", stopped)
        with pytest.raises(KeyboardInterrupt):
            trained("qp_wl", people, 4, tmp_path / "parts")
    resumed = trained("qp_wl", people, 4, tmp_path / "parts", resume=True)
    for one, other in zip(whole.get_weights(), resumed.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_a_run_that_is_done_stays_as_it_is(rng, tmp_path, monkeypatch):
    """Tests resuming a finished training, which occurs in recipes with several trainings."""
    quick(monkeypatch)
    people = walkers(rng)
    done = trained("qp_wl", people, 2, tmp_path)
    again = trained("qp_wl", people, 2, tmp_path, resume=True)
    for one, other in zip(done.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
