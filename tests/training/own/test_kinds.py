"""Tests that each kind of recordings has methods, and that these methods recognize simulated
people.

Closed-form methods must separate simulated people, and networks must train for one step.
"""

import dataclasses
import shutil

import numpy as np
import pytest

import keras_dml
from keras_dml import training, zoo
from keras_dml._backend import keras
from keras_dml.training import People
from keras_dml.training.own import card, cross_validation, kinds, sequences, sound, task
from keras_dml.training.own.task import Task
from keras_dml.zoo import lookup
from tests.training.own.conftest import recordings_of

CHANNELS = {task.SEQUENCES: 3, task.COVARIANCES: 9, task.SOUND: 1}


def of_kind(kind):
    """Returns a task of the given kind, and recordings of five people."""
    channels = CHANNELS[kind]
    if kind == task.SOUND:
        signals, subjects = voices(5)
        rate, window = 8000, 8000
    else:
        signals, subjects = recordings_of(5, channels=channels)
        rate, window = 20, 60
    names = tuple(map(str, range(channels)))
    made = Task(names, ("1",) * channels, rate, kind, window)
    return made, People(signals, subjects, [1, 1, 2, 2] * 5)


def voices(people, seed=0):
    """Returns noise that imitates two vowels of each person. The noise alternates between two
    filters.
    """
    rng = np.random.default_rng(seed)
    signals, subjects = [], []
    for person in range(people):
        vowels = rng.normal(size=(2, 24)) * np.hanning(24)
        for _ in range(4):
            turns = [np.convolve(rng.normal(size=500), vowels[i % 2], "same") for i in range(18)]
            signals.append(0.1 * np.concatenate(turns)[:, None].astype("float32"))
            subjects.append(f"person {person}")
    return signals, subjects


@pytest.mark.slow
@pytest.mark.parametrize("kind", task.KINDS)
def test_closed_forms_separate_people(kind):
    made, people = of_kind(kind)
    windows, tested = cross_validation.unit_windows(made, people), made.to_measure(people)
    for method in kinds.methods(made):
        if not method.is_network:
            (found,) = cross_validation.evaluate_model(
                method.model(made, people), windows, [tested], cross_validation.Embedder()
            )
            gap = found.scores[~found.genuine].mean() - found.scores[found.genuine].mean()
            assert gap > 0.1, method.name


def test_gravity_adds_methods_in_its_frame():
    made, _ = of_kind(task.SEQUENCES)
    names = [method.name for method in kinds.methods(dataclasses.replace(made, has_gravity=True))]
    assert names == [
        *("quantiles", "quantile_lda", "log_euclidean", "lda"),
        *("gravity_log_euclidean", "gravity_lda", "qp_wl"),
    ]
    assert kinds.untrained(kinds.methods(made)).name == "log_euclidean"


def test_the_frame_of_gravity_ignores_the_orientation_of_the_sensor(rng):
    made, people = of_kind(task.SEQUENCES)
    made = dataclasses.replace(made, has_gravity=True)
    signals = [x + [0, 0, 9.81] for x in people.signals]
    known = People(signals, people.subjects, people.sessions)
    model = kinds.untrained(kinds.methods(made)).model(made, known)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    window = known.signals[0][None, :60].astype("float32")
    np.testing.assert_allclose(model(window), model(window @ turn), rtol=0, atol=1e-3)


def test_lags_depend_on_rate_window_and_channels():
    made = Task(("x",), ("g",), 100.0, task.SEQUENCES, 500)
    assert sequences.lags(made, 6) == (0, 4, 8, 16, 32, 64)
    assert sequences.lags(dataclasses.replace(made, window=60), 6) == (0, 4, 8, 16)
    assert sequences.lags(made, 60) == (0,)
    assert sequences.lags(dataclasses.replace(made, rate_hz=1.0, window=8), 6) == (0, 1)


def test_sound_of_a_rate_without_whole_frames_is_refused():
    made, _ = of_kind(task.SOUND)
    with pytest.raises(ValueError, match="multiple of 200 Hz. Resample it to 16000"):
        sound.methods(dataclasses.replace(made, rate_hz=11_025.0))


def test_the_zoo_encoder_is_a_method_for_voices_at_16_khz(rng, monkeypatch):
    made, people = of_kind(task.SOUND)
    assert "ge2e" not in [method.name for method in sound.methods(made)]
    made = dataclasses.replace(made, rate_hz=16_000.0)
    method = kinds.untrained(sound.methods(made))
    assert method.name == "ge2e"
    trained = card.TrainedModel(made, people, method, None, [], [], unmeasured="few people")
    assert "Apache" in card.build(trained, {}, "", 0)["data"]["licence"]
    voice = 0.05 * rng.normal(size=(16_000, 1))
    z = keras_dml.embed(method.model(made, people), [voice])
    assert z.shape == (1, 256)
    whole = zoo.load("voice_ge2e_sim").encoder
    expected = keras_dml.embed(keras.Model(whole.input, whole.layers[-2].output), [voice])
    np.testing.assert_allclose(z, expected, rtol=0, atol=1e-6)
    monkeypatch.setattr(sound.lookup, "names", list)
    assert kinds.untrained(sound.methods(made)).name == "logcov"


def test_a_damaged_zoo_encoder_fails_before_the_folder_is_made(tmp_path, rng, monkeypatch):
    place = tmp_path / "zoo" / sound.ZOO_ENCODER
    place.mkdir(parents=True)
    shutil.copy(lookup.find(sound.ZOO_ENCODER) / lookup.CARD, place)
    monkeypatch.setenv(lookup.VARIABLE, str(place.parent))
    voices = [0.05 * rng.normal(size=(16_000, 1)) for _ in range(2)]
    given = {"channels": ["sound"], "rate_hz": 16_000, "kind": "sound", "window": 1.0, "steps": 0}
    with pytest.raises(FileNotFoundError, match="model file model.keras, which does not exist"):
        training.train(voices, ["ann", "bob"], out=tmp_path / "voice", **given)
    assert not (tmp_path / "voice").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", task.KINDS)
def test_a_network_takes_a_step(kind):
    made, people = of_kind(kind)
    network = next(method for method in kinds.methods(made) if method.is_network)
    learner = network.learner(made, people, 10)
    learner.model.compile(
        learner.optimization.optimizer(10), run_eagerly=True, jit_compile=False, **learner.compiled
    )
    before = [np.array(one) for one in learner.encoder.trainable_weights]
    loss = learner.model.train_on_batch(*learner.batches[0])
    assert np.isfinite(loss).all()
    after = [np.array(one) for one in learner.encoder.trainable_weights]
    assert any((one != other).any() for one, other in zip(before, after, strict=True))
