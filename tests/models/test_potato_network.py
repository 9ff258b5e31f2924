"""Tests scores, updates of statistics, training with `fit` and saved files of `PotatoNetwork`."""

import numpy as np
import pytest

import keras_dml
from keras_dml import distances, losses, models
from keras_dml._backend import keras, ops
from keras_dml.geometry.spd import potato
from keras_dml.losses.potato import query_scores
from tests.geometry.matrices import compiled

N, CLASSES, EACH = 5, 3, 8


def recordings(seed=3):
    """Draws covariance matrices of classes that differ in the scale of one channel."""
    rng = np.random.default_rng(seed)
    labels = np.arange(CLASSES * EACH) % CLASSES
    x = rng.normal(size=(len(labels), 40, N))
    x[:, :, 2] *= 1 + labels[:, None] / 2
    return (np.swapaxes(x, 1, 2) @ x / 40).astype("float32"), labels


def network(encoder=None, calibrate=True, **options):
    keras.utils.set_random_seed(0)
    encoder = encoder or models.spdnet((N, 3), output="spd")
    net = models.PotatoNetwork(encoder, CLASSES, **options)
    if calibrate:
        net.calibrate(*recordings())
    net.compile(keras.optimizers.SGD(0.02, momentum=0.9), losses.PotatoRankingLoss(0.5, margin=2))
    return net


def fit(net, epochs=1, **options):
    x, y = recordings()
    return net.fit(x, y, batch_size=12, epochs=epochs, shuffle=False, verbose=0, **options).history


def weights(net):
    return {weight.path: np.asarray(ops.convert_to_numpy(weight)) for weight in net.weights}


def assert_same(actual, expected, **close):
    actual, expected = weights(actual), weights(expected)
    assert list(actual) == list(expected)
    for path, value in actual.items():
        np.testing.assert_allclose(value, expected[path], err_msg=path, **{"rtol": 0, **close})


@pytest.fixture(scope="module")
def trained():
    """Returns a network that was trained for an epoch. Tests must not change this network."""
    net = network()
    fit(net)
    return net


def evaluated(net, x, y):
    return net.evaluate(x, y, batch_size=12, verbose=0, return_dict=True)


# ---- one step ---------------------------------------------------------------------------------


@pytest.mark.slow_on_jax
def test_a_step_scores_before_it_moves_and_moves_each_class_once():
    """Tests a step on a batch with rows of only two of the three classes."""
    net, (x, y) = network(update_rate=0.1), recordings()
    rows = np.flatnonzero(y != 1)[:6]
    labels = y[rows].astype("int32")
    before, embeddings = weights(net), keras_dml.embed(net, x[rows])
    names = ("center", "log_mu", "log_sigma", "count")
    state = potato.Statistics(*(before[f"potatoes/{name}"] for name in names))
    reported = net.train_on_batch(x[rows], labels, return_dict=True)

    @compiled
    def expected(state, embeddings, labels):
        logs = potato.log_distances(state.center, embeddings)
        z = potato.z_score(ops.transpose(logs), state.mean, state.stddev)
        class_logs = ops.take_along_axis(logs, labels[None], axis=0)[0]
        return z, potato.update(state, embeddings, labels, class_logs, 0.1)

    z, moved = expected(state, embeddings, ops.convert_to_tensor(labels))
    z = np.asarray(z)
    np.testing.assert_allclose(reported["loss"], float(net.loss(labels, z)), rtol=1e-4)
    mined = net.loss.mined(labels, query_scores(labels, z))
    for name, mask in zip(("positives", "negatives"), mined, strict=True):
        np.testing.assert_allclose(reported[name], np.asarray(mask).sum(axis=1).mean(), rtol=1e-6)
    np.testing.assert_allclose(reported["log_mu"], state.mean.mean(), rtol=1e-5)
    np.testing.assert_allclose(reported["log_sigma"], state.stddev.mean(), rtol=1e-5)

    after = weights(net)
    for name, value in zip(names, moved, strict=True):
        actual = after[f"potatoes/{name}"]
        np.testing.assert_allclose(actual, value, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(actual[1], before[f"potatoes/{name}"][1])
    assert (after["bimap_1/kernel"] != before["bimap_1/kernel"]).any()


@pytest.mark.slow
def test_evaluation_moves_nothing(trained):
    before = weights(trained)
    reported = evaluated(trained, *recordings())
    assert set(reported) == {"loss", "positives", "negatives", "log_mu", "log_sigma"}
    for path, value in weights(trained).items():
        np.testing.assert_array_equal(value, before[path])


@pytest.mark.slow
def test_repeated_eigenvalues_and_silence_take_a_finite_step():
    net = network()
    x, y = recordings()
    x[:3], x[3:6] = np.eye(N), 0
    net.fit(x[:12], y[:12], batch_size=12, verbose=0)
    assert all(np.isfinite(value).all() for value in weights(net).values())


@pytest.mark.slow
def test_nan_gives_a_nan_loss_and_invalid_labels_stop_a_compiled_step():
    net = network()  # a new network, because on JAX a step with an error destroys the weights
    x, y = recordings()
    nan = x.copy()
    nan[1, 0, 0] = np.nan
    assert np.isnan(evaluated(net, nan, y)["loss"])
    with pytest.raises(Exception, match="(?s)below the number of potatoes.*Received.*3"):
        evaluated(net, x, np.where(y == 2, 3, y))


# ---- training ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_training_finds_discriminative_channels(rng):
    """Tests that training finds the only one of eight channels in which the classes differ.

    The initial kernel selects two other channels.
    """
    labels = np.arange(48) % 3
    x = rng.normal(size=(48, 60, 8))
    x[:, :, 2] *= 2.0 ** labels[:, None]
    x = (np.swapaxes(x, 1, 2) @ x / 60).astype("float32")
    net = network(encoder=models.spdnet((8, 2), output="spd"), calibrate=False)
    start = rng.normal(size=(8, 2))
    start[2] /= 10
    net.encoder.set_weights([np.linalg.qr(start)[0]])
    net.compile(keras.optimizers.Adam(0.03), losses.PotatoRankingLoss(1.0))
    net.calibrate(x, labels)
    before = net.evaluate(x, labels, batch_size=24, verbose=0, return_dict=True)["loss"]
    net.fit(x, labels, batch_size=24, epochs=25, shuffle=False, verbose=0)
    net.calibrate(x, labels)
    after = net.evaluate(x, labels, batch_size=24, verbose=0, return_dict=True)["loss"]
    assert after < 0.7 * before


@pytest.mark.slow
def test_recalibration_runs_after_each_epoch():
    net, x, y = network(), *recordings()
    fit(net, callbacks=[net.recalibration(x, y, samples=5)])
    after = weights(net)
    np.testing.assert_array_equal(after["potatoes/count"], 5)
    net.calibrate(x, y, samples=5)
    assert weights(net).keys() == after.keys()
    for path, value in weights(net).items():
        np.testing.assert_array_equal(value, after[path])


@pytest.mark.slow
def test_loaded_network_continues_training_bit_for_bit(tmp_path):
    original = network(update_rate=0.1)
    fit(original)
    original.save(tmp_path / "network.keras")
    loaded = keras.saving.load_model(tmp_path / "network.keras")
    assert type(loaded) is models.PotatoNetwork
    assert loaded.potatoes.update_rate == 0.1 and loaded.loss.margin == 2
    assert_same(original, loaded)
    assert fit(original) == fit(loaded)
    assert_same(original, loaded)


@pytest.mark.slow_on_jax
def test_recordings_of_different_lengths_calibrate_through_their_encoder(rng):
    encoder = models.spdnet((N, 3), output="spd", estimator="oas")
    net = models.PotatoNetwork(encoder, 2)
    signals = [rng.normal(size=(20 + i // 4, N)).astype("float32") for i in range(8)]
    labels = np.arange(8) % 2
    net.calibrate(signals, labels)
    embeddings = np.concatenate([keras_dml.embed(encoder, signals[i : i + 4]) for i in (0, 4)])
    expected = potato.calibrate(embeddings[labels == 1])
    np.testing.assert_allclose(weights(net)["potatoes/center"][1], expected.center, rtol=1e-3)


# ---- embeddings and distances -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.slow_on_jax
def test_embeddings_and_distances_equal_those_of_the_encoder(trained, tmp_path):
    net, (x, _) = trained, recordings()
    embeddings = keras_dml.embed(net, x[:4])
    np.testing.assert_array_equal(embeddings, keras_dml.embed(net.encoder, x[:4]))
    assert isinstance(net.layers[-1].distance, distances.AffineInvariant)
    assert keras_dml.distance(net, embeddings, embeddings).shape == (4, 4)
    assert net.encoder.get_weights()[0].tobytes() == net.get_weights()[0].tobytes()
    net.encoder.save(tmp_path / "encoder.keras")
    plain = keras.saving.load_model(tmp_path / "encoder.keras")
    np.testing.assert_array_equal(keras_dml.embed(plain, x[:4]), embeddings)
    assert not any("potatoes" in weight.path for weight in plain.weights)


# ---- invalid input ----------------------------------------------------------------------------


@pytest.mark.slow_on_jax
def test_training_before_the_calibration_is_refused():
    for train in (lambda net: fit(net), lambda net: net.evaluate(*recordings(), verbose=0)):
        with pytest.raises(ValueError, match="3 of 3 .*potatoes are not calibrated.*`calibrate"):
            train(network(calibrate=False))


@pytest.mark.slow_on_jax
@pytest.mark.parametrize(
    "labels, message",
    [
        (np.zeros(24, int), "Class 1 cannot be calibrated.*at least 2"),
        (np.arange(24) % 4, r"ids from 0 to 2. Received \[3\]"),
        (np.zeros(3, int), r"shape \(24,\)"),
    ],
)
def test_calibrate_refuses_invalid_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        network().calibrate(recordings()[0], labels)


def test_another_loss_is_refused():
    net = network()
    net.compile("sgd", "mse")
    with pytest.raises(ValueError, match="PotatoRankingLoss.*Received loss='mse'"):
        fit(net)


@pytest.mark.parametrize("make", [lambda: models.spdnet((4, 2)), lambda: "hdm05", keras.Sequential])
def test_encoders_without_matrices_are_refused(make):
    with pytest.raises(ValueError, match=r"`encoder` must be a built model.*\(batch, n, n\)"):
        models.PotatoNetwork(make(), 2)
