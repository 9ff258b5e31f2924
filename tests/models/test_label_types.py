"""Tests labels of small integer types in the models that have their own loss.

`tests/losses/test_label_types.py` tests all integer types. This module tests few types, because the
step of a model is compiled again for each type.
"""

import numpy as np
import pytest

from keras_dml import losses, models
from keras_dml._backend import keras, ops

LABELS = np.array([0, 0, 1, 1, 0, 1])


def classifier():
    keras.utils.set_random_seed(3)
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    return models.PrototypicalClassifier(encoder, classes=2, hidden=4)


def prototypical():
    model = classifier()
    model.compile("sgd", metrics=["accuracy"])
    return model


def adversarial(method):
    model = models.AdversarialTraining(
        classifier(), method, epsilon=0.1, steps=2, seed=0, clean_fraction=0.3
    )
    model.compile("sgd")
    return model


def potato():
    keras.utils.set_random_seed(3)
    model = models.PotatoNetwork(models.spdnet((4, 2), output="spd"), classes=2)
    model.calibrate(matrices(), LABELS)
    model.compile("sgd", losses.PotatoRankingLoss(0.0, margin=9.0))
    return model


def vectors():
    return np.random.default_rng(0).random((6, 4), "float32")


def matrices():
    x = np.random.default_rng(0).normal(size=(6, 4, 9)).astype("float32")
    return x @ x.swapaxes(1, 2)


CASES = {
    "classifier": (prototypical, vectors),
    "adversarial": (lambda: adversarial("prototypes"), vectors),
    "trades": (lambda: adversarial("trades"), vectors),
    "potato": (potato, matrices),
}


@pytest.mark.slow
@pytest.mark.parametrize("make, data", CASES.values(), ids=CASES)
def test_fit_takes_labels_of_small_types_as_those_of_int32(make, data):
    x, actual = data(), {}
    for dtype in ("int32", "uint8", "int16"):
        model = make()
        before = model.get_weights()
        labels = LABELS.astype(dtype)
        history = model.fit(x, labels, batch_size=6, shuffle=False, verbose=0).history
        assert np.isfinite(history["loss"]).all(), dtype
        actual[dtype] = model.get_weights()
        moved = [(a != b).any() for a, b in zip(actual[dtype], before, strict=True)]
        assert sum(moved) > 1, dtype
        for first, expected in zip(actual[dtype], actual["int32"], strict=True):
            np.testing.assert_allclose(first, expected, rtol=1e-4, atol=1e-6, err_msg=dtype)


@pytest.mark.slow
@pytest.mark.parametrize("make, data", CASES.values(), ids=CASES)
def test_a_pipeline_and_an_eager_step_take_small_types_too(make, data):
    tf = pytest.importorskip("tensorflow")
    x, model = data(), make()
    pipeline = tf.data.Dataset.from_tensor_slices((x, LABELS.astype("uint8"))).batch(6)
    history = model.fit(pipeline, shuffle=False, verbose=0).history
    assert np.isfinite(history["loss"]).all()
    model.run_eagerly = True
    assert np.isfinite(model.evaluate(x, LABELS.astype(bool), verbose=0, return_dict=True)["loss"])


def of_pairs(loss):
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.compile("sgd", loss)
    return model


def of_prototypes():
    model = classifier()
    model.compile("sgd")
    return model


MAKERS = {
    "classifier": of_prototypes,
    "contrastive": lambda: of_pairs(losses.ContrastiveLoss()),
    "triplet": lambda: of_pairs(losses.TripletLoss()),
}


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_one_model_is_fitted_with_rows_and_columns_of_labels(make):
    model, reference = make(), make()
    for labels in (LABELS, LABELS[:, None], LABELS):
        model.fit(vectors(), labels, batch_size=6, shuffle=False, verbose=0)
        reference.fit(vectors(), LABELS, batch_size=6, shuffle=False, verbose=0)
    for actual, expected in zip(model.get_weights(), reference.get_weights(), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-6)


def test_prototypes_are_fitted_by_labels_of_small_types():
    x, model = vectors(), prototypical()
    model.refit_prototypes(x, LABELS)
    expected = model.prototypes
    model.refit_prototypes(x, LABELS.astype("uint8"))
    np.testing.assert_array_equal(model.prototypes, expected)
    model.add_classes(["new", "newer"], x, ops.convert_to_tensor(LABELS.astype("uint8")))
    np.testing.assert_array_equal(model.prototypes[2:], expected)
