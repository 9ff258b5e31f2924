"""Tests `fit`, `evaluate` and `predict` of models whose loss needs embeddings."""

import inspect

import numpy as np
import pytest

from keras_dml import losses, models
from keras_dml._backend import keras, ops

CLASSES = 3
ON_JAX = keras.backend.backend() == "jax"
METHODS = ["prototypes", "trades"] if ON_JAX else ["prototypes", "at", "alp", "tla", "trades"]
KINDS = ["classifier", *METHODS[:2]]
once = pytest.mark.skipif(
    ON_JAX, reason="results are the same on every backend, and compilation on JAX takes long"
)
TERMS = ("class_loss", "pair_loss", "aux_loss")

pytestmark = pytest.mark.shares_nothing


def data(rows=14):
    rng = np.random.default_rng(5)
    y = rng.permutation(np.arange(rows) % CLASSES)
    centers = np.random.default_rng(1).random((CLASSES, 6, 6, 1))
    return np.clip(centers[y] + 0.05 * rng.normal(size=(rows, 6, 6, 1)), 0, 1).astype("float32"), y


def build(kind, *, rate=0.05, loss=None, epsilon=0.05, **options):
    keras.utils.set_random_seed(2)
    layers = keras.layers
    encoder = keras.Sequential(
        [
            keras.Input((6, 6, 1)),
            layers.Flatten(),
            layers.Dense(4, kernel_regularizer=keras.regularizers.L2(0.01)),
        ]
    )
    options = {"hidden": 5, "dropout": 0.0, **options}
    model = models.PrototypicalClassifier(encoder, CLASSES, **options)
    if kind != "classifier":
        model = models.AdversarialTraining(model, kind, epsilon=epsilon, steps=2, seed=0)
    model.compile(keras.optimizers.SGD(rate), loss, metrics=["accuracy"])
    return model


@pytest.mark.parametrize("name", ["fit", "evaluate", "predict"])
@pytest.mark.parametrize("kind", [models.PrototypicalClassifier, models.AdversarialTraining])
def test_signatures_are_those_of_keras(kind, name):
    assert inspect.signature(getattr(kind, name)) == inspect.signature(getattr(keras.Model, name))


@pytest.mark.slow
@once
@pytest.mark.parametrize("kind", KINDS)
def test_arguments_may_be_positional_as_in_keras(kind):
    model, (x, y) = build(kind), data()
    model.fit(x, y, 4, 2, 0)
    assert int(model.optimizer.iterations) == 2 * 4  # two epochs of ceil(14 / 4) steps
    reported = model.evaluate(x, y, 4, 0)
    assert np.isfinite(reported).all()
    assert model.predict(x, 4, 0).shape == (14, CLASSES)


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss",
    [
        losses.PrototypicalLoss(
            class_weight=0.5, pair_weight=2.0, aux_weight=3.0, label_smoothing=0.1
        ),
        pytest.param(losses.PrototypicalLoss(candidates="batch"), marks=once),
        pytest.param(None, marks=once),
    ],
    ids=["weighted", "of the batch", "default"],
)
def test_validation_has_the_terms_of_training(loss):
    """Tests that validation reports the same loss as training if no weight changes.

    The last batch has fewer rows than the other batches.
    """
    model, (x, y) = build("classifier", rate=0.0, loss=loss, decay=1.0), data()
    actual = model.fit(x, y, batch_size=6, shuffle=False, validation_data=(x, y), verbose=0).history
    names = {"loss", "accuracy", "positives", *TERMS}
    assert set(actual) == names | {f"val_{name}" for name in names}
    for name in names:
        np.testing.assert_allclose(actual[f"val_{name}"], actual[name], rtol=1e-5, err_msg=name)
    terms = [actual[f"val_{name}"][0] for name in TERMS]
    weights = [
        (loss or losses.PrototypicalLoss()).get_config()[f"{name}_weight"]
        for name in ("class", "pair", "aux")
    ]
    penalty = 0.01 * np.sum(np.square(model.encoder.get_weights()[0]))
    np.testing.assert_allclose(actual["val_loss"], np.dot(terms, weights) + penalty, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_validation_has_the_terms_of_the_method_of_adversarial_training(method):
    """Tests that validation reports the same terms as adversarial training. The attack has almost
    no effect, so the training loss equals the loss on clean inputs.
    """
    model, (x, y) = build(method, rate=0.0, epsilon=1e-7, decay=1.0), data(12)
    actual = model.fit(x, y, batch_size=6, shuffle=False, validation_data=(x, y), verbose=0).history
    names = {"loss", "accuracy"} | ({"positives", *TERMS} if method == "prototypes" else set())
    assert set(actual) == names | {f"val_{name}" for name in names}
    if method == "prototypes":  # adversarial examples add pairs
        names -= {"loss", "pair_loss", "positives"}
    for name in names:
        np.testing.assert_allclose(actual[f"val_{name}"], actual[name], rtol=1e-4, err_msg=name)


@pytest.mark.slow
def test_classes_without_a_unit_in_the_auxiliary_head_are_evaluated_by_the_other_terms():
    model, (x, y) = build("classifier"), data()
    model.add_classes(["new"], x[:1], ["new"])
    old = model.evaluate(x, y, batch_size=14, verbose=0, return_dict=True)
    more = np.concatenate([x, x[:2]])
    actual = model.evaluate(more, np.append(y, [3, 3]), batch_size=16, verbose=0, return_dict=True)
    assert actual["aux_loss"] == pytest.approx(old["aux_loss"], rel=1e-5)
    assert actual["positives"] == old["positives"] + 2 and np.isfinite(actual["loss"])


@pytest.mark.slow
@once
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "change, message",
    [
        (lambda x: (255 * x).astype("uint8"), "must hold floats.*uint8"),
        (lambda x: 255 * x, "Divide bytes by 255"),
        (lambda x: x[:, :5], r"shape \(6, 6, 1\). Received shape \(5, 6, 1\)"),
    ],
    ids=["bytes", "range", "size"],
)
def test_images_are_checked_in_validation_evaluate_and_predict_as_in_fit(kind, change, message):
    model, (x, y) = build(kind), data()
    before, bad = model.get_weights(), change(x)
    calls = [
        lambda: model.fit(bad, y, verbose=0),
        lambda: model.fit(x, y, validation_data=(bad, y), verbose=0),
        lambda: model.evaluate(bad, y, verbose=0),
        lambda: model.predict(bad, verbose=0),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call()
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_bytes_in_a_pipeline_are_refused_by_their_type(kind):
    model, (x, y) = build(kind), data()
    images = ops.convert_to_tensor((255 * x).astype("uint8"))
    for call in (model.predict, lambda x, verbose: model.evaluate(x, y, verbose=verbose)):
        with pytest.raises(ValueError, match=r"must hold floats in \[0, 1\]. Received dtype uint8"):
            call(images, verbose=0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_invalid_labels_are_refused_in_validation_and_evaluate(kind):
    model, (x, y) = build(kind), data()
    before = model.get_weights()
    calls = [
        lambda: model.fit(x, y, validation_data=(x, y + 1), verbose=0),
        lambda: model.evaluate(x, y + 1, verbose=0),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"ids from 0 to 2. Received \[3\]"):
            call()
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    with pytest.raises(Exception, match="Labels must be class ids from 0 to 2"):
        model.evaluate(x, ops.convert_to_tensor(y + 1), verbose=0)  # in the compiled step


@pytest.mark.parametrize("kind", KINDS[:2])
def test_weights_are_refused_wherever_keras_takes_them(kind):
    model, (x, y) = build(kind), data()
    weights = np.ones(len(x))
    calls = [
        lambda: model.fit(x, y, class_weight={0: 1.0, 1: 2.0, 2: 1.0}, verbose=0),
        lambda: model.fit(x, y, sample_weight=weights, verbose=0),
        lambda: model.fit(x, y, validation_data=(x, y, weights), verbose=0),
        lambda: model.evaluate(x, y, sample_weight=weights, verbose=0),
        lambda: model.test_on_batch(x, y, sample_weight=weights),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="takes no `sample_weight` and no `class_weight`"):
            call()


@pytest.mark.slow
@once
@pytest.mark.parametrize("kind", KINDS[:2])
def test_validation_split_early_stopping_and_saving_work_as_in_keras(kind, tmp_path):
    model, (x, y) = build(kind), data(30)
    stop = keras.callbacks.EarlyStopping("val_loss", patience=1, restore_best_weights=True)
    best = keras.callbacks.ModelCheckpoint(tmp_path / "best.keras", save_best_only=True)
    actual = model.fit(
        x, y, batch_size=8, epochs=3, validation_split=0.3, callbacks=[stop, best], verbose=0
    ).history
    assert np.isfinite(actual["val_loss"]).all()
    loaded = keras.saving.load_model(tmp_path / "best.keras")
    expected = model.evaluate(x[-9:], y[-9:], batch_size=8, verbose=0, return_dict=True)
    again = loaded.evaluate(x[-9:], y[-9:], batch_size=8, verbose=0, return_dict=True)
    assert again["loss"] == pytest.approx(expected["loss"], rel=1e-5)
    assert again["loss"] == pytest.approx(min(actual["val_loss"]), rel=1e-5)
    loaded.fit(x, y, validation_data=(x, y), verbose=0)


@pytest.mark.slow
@once
@pytest.mark.parametrize("kind", KINDS[:2])
def test_data_sets_of_tensorflow_train_and_validate(kind):
    import tensorflow as tf

    model, (x, y) = build(kind), data(24)
    batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
    actual = model.fit(batches, validation_data=batches, epochs=2, shuffle=False, verbose=0).history
    assert np.isfinite(actual["val_loss"]).all()
    assert model.predict(batches.map(lambda x, y: x), verbose=0).shape == (24, CLASSES)


def test_keras_decides_whether_xla_compiles():
    expected = ON_JAX or any("gpu" in name.lower() for name in keras.distribution.list_devices())
    for kind in KINDS[:2]:
        assert build(kind).jit_compile == expected
