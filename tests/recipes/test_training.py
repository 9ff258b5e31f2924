"""The four methods of Abdelwahab2019 by one option, resumed runs, folds, the trials of
thresholds."""

import numpy as np
import pytest

from keras_dml.models.sequence_encoder import SIZES
from zoo import evaluate, recipe, training
from zoo.eeg_qp_wl import train as eeg
from zoo.people import People


def walkers(rng, people=5, each=3, steps=80):
    """Sines of a frequency of their own, three channels."""
    subjects = [f"{person}" for person in range(people) for _ in range(each)]
    signals = [
        np.sin(np.arange(steps)[:, None] * (0.2 + 0.1 * int(one)) + rng.uniform(0, 6, 3))
        for one in subjects
    ]
    signals = [signal.astype("float32") for signal in signals]
    return People(signals, subjects, [i % each for i in range(len(subjects))])


def quick(monkeypatch):
    """Two steps an epoch, two convolutions."""
    monkeypatch.setitem(SIZES, "edge", (4, 6))
    monkeypatch.setattr(training, "STEPS_PER_EPOCH", 2)
    monkeypatch.setattr(training, "WARM_UP", 1)


def trained(method, people, steps, out, resume=False):
    options = {"pairs": 4, "length": 64, "steps": steps, "seed": 3, "out": out, "resume": resume}
    encoder, minutes = recipe.train(method, people, lambda batch, rng: batch, **options)
    assert minutes > 0
    return encoder


@pytest.mark.parametrize("method", training.METHODS)
def test_each_method_trains_an_encoder_that_tells_distances(method, rng, tmp_path, monkeypatch):
    quick(monkeypatch)
    people = walkers(rng)
    encoder = trained(method, people, 2, tmp_path)
    table = evaluate.all_distances(encoder, people.signals)
    assert table.shape == (15, 15) and np.isfinite(table).all()
    flat = method != "qp_wl"
    assert len(encoder.output_shape) == (2 if flat else 3)


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match="qp_npl.*Received method='qp'"):
        training.build_encoder("qp", 3)


def test_a_resumed_run_ends_where_one_run_does(rng, tmp_path, monkeypatch):
    quick(monkeypatch)
    people = walkers(rng)
    whole = trained("qp_wl", people, 4, tmp_path / "whole")
    fit = training.keras.Model.fit

    def stopped(model, *given, **options):
        """As if the power went after the first of two epochs."""
        fit(model, *given, **{**options, "epochs": 1})
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(training.keras.Model, "fit", stopped)
        with pytest.raises(KeyboardInterrupt):
            trained("qp_wl", people, 4, tmp_path / "parts")
    resumed = trained("qp_wl", people, 4, tmp_path / "parts", resume=True)
    for one, other in zip(whole.get_weights(), resumed.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_every_probe_is_compared_with_everybodys_earlier_recordings(rng):
    subjects, sessions = ["a", "a", "a", "b", "b"], [0, 0, 1, 0, 2]
    table = rng.random((5, 5))
    scores, genuine = evaluate.every_probe(table, subjects, sessions)
    expected = [
        (min(table[probe, i] for i in earlier), name == subjects[probe])
        for probe in (2, 4)
        for name, earlier in {"a": (0, 1), "b": (3,)}.items()
    ]
    np.testing.assert_array_equal(scores, [score for score, _ in expected])
    np.testing.assert_array_equal(genuine, [truth for _, truth in expected])


def test_a_rate_that_too_few_trials_cannot_show_has_no_threshold(rng):
    genuine = np.arange(300) < 50
    scores = rng.normal(size=300) + 2 * ~genuine
    assert [entry["far"] for entry in evaluate.thresholds(scores, genuine)] == [0.01]


def test_folds_hold_everybody_once():
    names = [f"person {i}" for i in range(17)]
    folds = eeg.folds(names * 3)
    assert sorted(len(fold) for fold in folds) == [4, 4, 4, 5]
    assert sorted(name for fold in folds for name in fold) == sorted(names)
