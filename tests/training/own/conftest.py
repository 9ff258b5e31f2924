"""Simulates recordings of people, and defines a small network that makes tests fast."""

import numpy as np
import pytest

from keras_dml import training
from keras_dml._backend import keras
from keras_dml.layers import ChannelNormalization, MaskedConv1D, QuantileLayer
from keras_dml.losses import WassersteinLoss
from keras_dml.samplers import NPairSampler
from keras_dml.training.own import exports, kinds, sequences
from keras_dml.training.own.methods import Learner, Method, optimization

RATE_HZ, WINDOW, STEPS = 20, 2.0, 120
CHANNELS = ("x", "y", "z")


def recordings_of(people, each=4, seed=0, channels=3, steps=STEPS):
    """Returns smooth noise whose channels are correlated differently for each person."""
    rng = np.random.default_rng(seed)
    found, owners = [], []
    for person in range(people):
        mixing = np.eye(channels) + rng.normal(size=(channels, channels))
        for _ in range(each):
            white = rng.normal(size=(steps + 6, channels))
            smooth = np.apply_along_axis(np.convolve, 0, white, np.hanning(7), "valid")
            found.append((smooth @ mixing).astype("float32"))
            owners.append(f"person {person}")
    return found, owners


def small_network(task, known, steps):
    """Returns a network of one convolution and a quantile layer."""
    batches = NPairSampler(
        known.signals, known.subjects, pairs=2, steps=2, length=task.window, seed=task.seed
    )
    normalization = ChannelNormalization(name="normalization")
    normalization.adapt(known.signals)
    signal = keras.Input((None, len(task.channels)), name="signal")
    x = MaskedConv1D(4, 3)(normalization(signal))
    model = keras.Model(signal, QuantileLayer(3, name="embedding")(x), name="small")
    # The model is not compiled, because so few steps take less time than compilation.
    compiled = {"loss": WassersteinLoss(), "run_eagerly": True, "jit_compile": False}
    return Learner(model, model, batches, optimization(1e-2, steps), compiled)


NETWORK = Method("qp_wl", "a small network", sequences.QP_WL_PAPER, learner=small_network)


def small_training(out, people=4, **options):
    """Calls `train` on simulated people, with few steps."""
    recordings, owners = recordings_of(people)
    given = {"channels": CHANNELS, "rate_hz": RATE_HZ, "window": WINDOW, "steps": 0} | options
    sessions = given.pop("sessions", None)
    recordings = given.pop("recordings", recordings)
    return training.train(recordings, given.pop("owners", owners), sessions, out=out, **given)


@pytest.fixture
def with_small_network(monkeypatch):
    """Reduces the methods for sequences to the fastest closed-form method and a small network."""
    of_sequences = sequences.methods
    monkeypatch.setitem(
        kinds._METHODS,
        "sequences",
        lambda task: [of_sequences(task)[0], NETWORK],
    )


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Returns the result of `train` for six people, with closed-form methods only. One recording is
    flat.
    """
    recordings, people = recordings_of(6)
    recordings.append(np.zeros((STEPS, 3)))
    return training.train(
        recordings,
        [*people, "person 0"],
        channels=CHANNELS,
        units="g",
        rate_hz=RATE_HZ,
        window=WINDOW,
        steps=0,
        out=tmp_path_factory.mktemp("own") / "phone",
        names=[f"walk {i}" for i in range(len(recordings))],
    )


@pytest.fixture
def without_exports(monkeypatch):
    """Replaces the export of TFLite files, which takes seconds."""
    monkeypatch.setattr(exports, "QUANTIZATIONS", {})


@pytest.fixture
def train(tmp_path, without_exports):
    """Returns `small_training` without exports. All calls write into the same folder."""

    def run(people=4, out=tmp_path / "phone", **options):
        return small_training(out, people, **options)

    return run
