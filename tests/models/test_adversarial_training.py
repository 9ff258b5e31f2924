"""Tests attacks, training steps, saved files and errors of `AdversarialTraining`."""

import numpy as np
import pytest

from keras_dml import models
from keras_dml._backend import keras, ops
from keras_dml.losses import PrototypicalLoss, robust
from keras_dml.models.adversarial_training import METHODS

EPSILON, STEPS, CLASSES = 0.2, 3, 3
ON_JAX = keras.backend.backend() == "jax"
QUICK = {"jit_compile": ON_JAX}  # for small models, which train faster without XLA on TensorFlow

pytestmark = pytest.mark.shares_nothing


def data(rows=12, seed=5):
    """Draws inputs in [0, 1] around a central point for each class."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % CLASSES
    centers = np.random.default_rng(1).random((CLASSES, 6))
    return np.clip(centers[y] + 0.05 * rng.normal(size=(rows, 6)), 0, 1).astype("float32"), y


def classifier(seed=2, **options):
    keras.utils.set_random_seed(seed)
    encoder = keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Dense(8, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(4),
        ]
    )
    return models.PrototypicalClassifier(encoder, CLASSES, **{"hidden": 16, **options})


def training(method="prototypes", inner=None, **options):
    options = {"epsilon": EPSILON, "steps": STEPS, "seed": 0, **options}
    return models.AdversarialTraining(inner or classifier(), method, **options)


def state(model):
    return [np.array(ops.convert_to_numpy(weight)) for weight in model.weights]


@pytest.mark.slow
@pytest.mark.parametrize(
    "method, jit_compile",
    [
        ("prototypes", True),
        ("prototypes", False),
        ("at", False),
        ("alp", False),
        ("tla", False),
        ("trades", False),
    ],
)
def test_fit_lowers_the_loss_on_attacked_inputs(method, jit_compile):
    x, y = data(24)
    model = training(method, epsilon=0.05)
    compiled = {"jit_compile": jit_compile or ON_JAX, "metrics": ["accuracy"]}
    model.compile(keras.optimizers.Adam(0.02), **compiled)
    history = model.fit(x, y, batch_size=12, epochs=6, shuffle=False, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]
    assert history["accuracy"][-1] > 0.6
    assert int(model.steps_taken) == 12


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("method", METHODS)
def test_an_attack_raises_its_loss_within_the_ball_and_moves_no_weight(method):
    x, y = data()
    model = training(method)
    before = state(model.classifier)
    twin = np.asarray(model.attack(x, y))
    for old, new in zip(before, state(model.classifier), strict=True):
        np.testing.assert_array_equal(old, new)
    assert np.abs(twin - x).max() <= EPSILON + 1e-6
    assert twin.min() >= 0 and twin.max() <= 1
    loss = model._method.attacked_loss(x, y)
    assert (np.asarray(loss(twin)) >= np.asarray(loss(x)) - 1e-5).all()
    assert np.sum(loss(twin)) > np.sum(loss(x))


@pytest.mark.slow_on_jax
def test_the_attack_of_prototypes_is_on_both_heads():
    x, y = data()
    model = training()
    heads = [robust.cross_entropy(y, model.classifier.scores(x, head)) for head in ("sim", "dol")]
    np.testing.assert_allclose(model._method.attacked_loss(x, y)(x), np.add(*heads), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.slow_on_jax
def test_step_equals_the_classifiers_step_on_clean_and_attacked_inputs():
    """Compares a step of `AdversarialTraining` with a step of the classifier on the same inputs."""
    x, y = data()
    model, plain = training(), classifier(dropout=0.0)
    model = training(inner=classifier(dropout=0.0))
    twin = np.asarray(training(inner=classifier(dropout=0.0)).attack(x, y))
    for item in (model, plain):
        item.compile(keras.optimizers.SGD(0.1), PrototypicalLoss(label_smoothing=0.1), **QUICK)
    reported = model.train_on_batch(x, y, return_dict=True)
    expected = plain.train_on_batch(np.concatenate([x, twin]), np.tile(y, 2), return_dict=True)
    assert set(reported) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(reported[name], value, rtol=1e-5, err_msg=name)
    for old, new in zip(state(plain), state(model.classifier), strict=True):
        np.testing.assert_allclose(old, new, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["at", "alp", "tla", "trades"])
def test_other_methods_train_the_encoder_and_the_auxiliary_head_by_their_loss(method):
    x, y = data()
    model = training(method)
    twin = np.asarray(training(method).attack(x, y))
    untouched = [np.array(weight) for weight in model.classifier.prototypes_layer.weights]
    model.compile(keras.optimizers.SGD(0.1), **QUICK)
    reported = model.train_on_batch(x, y, return_dict=True)

    fresh = classifier()
    joined = twin if method == "at" else np.concatenate([x, twin])
    z = fresh.encoder(joined, training=True)
    logits = fresh.aux_head(z)
    clean, attacked = logits[: len(x)], logits[-len(x) :]
    expected = {
        "at": lambda: robust.cross_entropy(y, logits),
        "alp": lambda: robust.alp(y, clean, attacked, 0.5),
        "tla": lambda: robust.tla(y, z[: len(x)], z[len(x) :], attacked),
        "trades": lambda: robust.trades(y, clean, attacked, 6.0),
    }[method]()
    np.testing.assert_allclose(reported["loss"], np.mean(expected), rtol=1e-5)
    for old, new in zip(untouched, model.classifier.prototypes_layer.weights, strict=True):
        np.testing.assert_array_equal(old, new)
    assert np.abs(
        np.asarray(model.classifier.aux_head.kernel) - np.asarray(fresh.aux_head.kernel)
    ).max()


@pytest.mark.slow_on_jax
def test_trades_starts_at_random_points_near_the_inputs():
    x, y = data()
    model = training("trades", steps=1, step_size=1e-6)
    moved = np.abs(np.asarray(model.attack(x, y)) - x)
    assert 0 < moved.max() < 0.01


@pytest.mark.slow
@pytest.mark.slow_on_jax
def test_epsilon_grows_over_the_first_steps():
    x, y = data()
    model = training(ramp_steps=4, clean_fraction=0.0)
    model.compile("sgd", **QUICK)
    for step in range(1, 6):
        reach = np.abs(np.asarray(model.attack(x, y)) - x).max()
        assert reach == pytest.approx(EPSILON * min(step / 4, 1), rel=0.02)
        model.train_on_batch(x, y)


@pytest.mark.slow
@pytest.mark.parametrize("share, rows", [(0.0, 12), (0.25, 16), (0.4, 20), (0.5, 24)])
def test_clean_fraction_sets_the_number_of_clean_inputs(share, rows):
    x, y = data()
    joined, labels = training(clean_fraction=share)._join((x, y))
    assert joined.shape[0] == labels.shape[0] == rows
    clean = np.asarray(joined)[: rows - 12]
    np.testing.assert_array_equal(np.asarray(labels)[rows - 12 :], y)
    for first, label in zip(clean, np.asarray(labels), strict=False):
        assert (x[y == label] == first).all(axis=1).any()


@pytest.mark.slow
def test_fit_takes_batches_of_any_size_with_a_share_of_clean_inputs():
    x, y = data(10)
    model = training(clean_fraction=0.3)
    model.compile("sgd", **QUICK)
    history = model.fit(x, y, batch_size=4, verbose=0).history
    assert np.isfinite(history["loss"]).all()


@pytest.mark.slow
def test_evaluate_is_on_clean_inputs_and_moves_nothing():
    x, y = data()
    for method in ("prototypes", "at"):
        model = training(method)
        model.compile("sgd", metrics=["accuracy"], **QUICK)
        before = state(model)
        reported = model.evaluate(x, y, verbose=0, return_dict=True)
        head = "sim" if method == "prototypes" else "dol"
        scores = model.classifier.scores(x, head)
        expected = float(np.mean(robust.cross_entropy(y, scores)))
        if method == "prototypes":
            labels = ops.convert_to_tensor(y.astype("int32"))
            terms = model.classifier.terms(model.classifier.embed(x), labels)
            expected = sum(float(term) for term in terms[:3])
        assert reported["loss"] == pytest.approx(expected, rel=1e-4)
        assert reported["accuracy"] == pytest.approx(float(np.mean(np.argmax(scores, axis=1) == y)))
        np.testing.assert_allclose(model.predict(x, verbose=0), scores, rtol=1e-5, atol=1e-6)
        for old, new in zip(before, state(model), strict=True):
            np.testing.assert_array_equal(old, new)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["prototypes", "at"])
def test_loaded_model_continues_like_the_original(method, tmp_path):
    x, y = data()
    model = training(method, ramp_steps=4, inner=classifier(dropout=0.0))
    model.compile(keras.optimizers.Adam(0.01), **QUICK)
    model.train_on_batch(x, y)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for _ in range(2):
        reported = [item.train_on_batch(x, y) for item in (model, loaded)]
    np.testing.assert_allclose(*reported, rtol=1e-5)
    for old, new in zip(state(model), state(loaded), strict=True):
        np.testing.assert_allclose(old, new, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_the_trained_classifier_saves_and_loads_alone(tmp_path):
    x, y = data()
    model = training()
    model.compile("sgd", **QUICK)
    model.train_on_batch(x, y)
    model.classifier.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(x), model.classifier(x))
    np.testing.assert_array_equal(loaded.prototypes, model.classifier.prototypes)


@pytest.mark.slow
def test_a_classifier_without_an_auxiliary_head_or_with_margins_is_attacked_too():
    x, y = data()
    for aux in (None, "am"):
        model = training(inner=classifier(aux=aux))
        model.compile("sgd", **QUICK)
        assert np.isfinite(model.train_on_batch(x, y)[0])


@pytest.mark.slow_on_jax
@pytest.mark.parametrize(
    "options, part",
    [
        ({"method": "pgd"}, "`method` must be one of"),
        ({"epsilon": 0.0}, "`epsilon` must be above 0"),
        ({"epsilon": 8.0}, "epsilon=8.0"),
        ({"steps": 0}, "`steps` must be a whole number"),
        ({"step_size": 0.0}, "`step_size` must be above 0"),
        ({"clean_fraction": 0.9}, "`clean_fraction` must be from 0 to 0.5"),
        ({"ramp_steps": -1}, "`ramp_steps`"),
        ({"method": "alp", "constants": {"beta": 1.0}}, "`constants` of method 'alp'"),
    ],
)
def test_wrong_arguments_are_refused(options, part):
    with pytest.raises(ValueError, match=part):
        training(**options)


@pytest.mark.slow_on_jax
def test_wrong_classifiers_losses_labels_and_weights_are_refused():
    x, y = data()
    with pytest.raises(TypeError, match="PrototypicalClassifier"):
        training(inner=keras.Sequential([keras.Input((6,)), keras.layers.Dense(3)]))
    with pytest.raises(ValueError, match='aux="softmax"'):
        training("at", classifier(aux="am"))
    model = training("at")
    model.compile("sgd", PrototypicalLoss(), **QUICK)
    with pytest.raises(ValueError, match="loss="):
        model.train_on_batch(x, y)
    model = training("at")
    model.compile("sgd", **QUICK)
    with pytest.raises(ValueError, match="class ids from 0 to 2"):
        model.fit(x, y + 1, verbose=0)
    with pytest.raises(ValueError, match="no `sample_weight`"):
        model.train_on_batch(x, y, sample_weight=np.ones(12))
    before = state(model)
    with pytest.raises(ValueError, match=r"Received \["):
        model.attack(x, y + 1)
    for first, as_before in zip(state(model), before, strict=True):
        np.testing.assert_array_equal(first, as_before)


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("method", METHODS)
def test_invalid_label_stops_a_compiled_step(method):
    """Tests a label that is not a class. Loss and attack use the score of the label."""
    model, (x, y) = training(method), data(6)
    model.compile("sgd", **QUICK)
    with pytest.raises(Exception, match="class ids from 0 to.*Received.*7"):
        model.train_on_batch(x, np.where(y == 2, 7, y))


@pytest.mark.slow
def test_without_a_seed_starts_differ_and_the_model_loads():
    def made():
        encoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
        classifier = models.PrototypicalClassifier(encoder, classes=2, hidden=4)
        return models.AdversarialTraining(classifier, epsilon=0.1, steps=2)

    first, second = made(), made()
    assert first._first_seed != second._first_seed
    x = np.random.default_rng(0).random((6, 4), "float32")
    first.compile("sgd")
    history = first.fit(x, np.array([0, 0, 0, 1, 1, 1]), verbose=0).history
    assert np.isfinite(history["loss"]).all()
    assert models.AdversarialTraining.from_config(first.get_config()).seed is None


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("seed", [-1, 2**32, 0.5, True, "0"])
def test_seeds_out_of_range_are_refused(seed):
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    classifier = models.PrototypicalClassifier(encoder, classes=2, hidden=4)
    with pytest.raises((TypeError, ValueError), match="`seed` must be"):
        models.AdversarialTraining(classifier, epsilon=0.1, steps=2, seed=seed)
