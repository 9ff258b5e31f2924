"""Tests that models with their own loss raise errors that name the position of invalid values."""

import numpy as np
import pytest

from keras_dml import losses, models
from keras_dml._backend import keras, ops
from tests.models.test_label_types import LABELS, adversarial, classifier, matrices, vectors

ENCODERS = {
    "vectors": ((4,), [keras.layers.Dense(3)]),
    "sequences": ((5, 2), [keras.layers.Flatten(), keras.layers.Dense(3)]),
    "maps": ((2, 2, 5), [keras.layers.Flatten(), keras.layers.Dense(3)]),
}


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def spoiled(x, value=np.nan, row=4):
    x = x.copy()
    x[(row, *(0,) * (x.ndim - 1))] = value
    return x


def trained():
    model = classifier()
    model.refit_prototypes(vectors(), LABELS)
    return model


def calibrated():
    model = models.PotatoNetwork(models.spdnet((4, 2), output="spd"), classes=2)
    model.calibrate(matrices(), LABELS)
    model.compile("sgd", losses.PotatoRankingLoss(0.0, margin=9.0))
    return model


@pytest.mark.slow
@pytest.mark.parametrize("value", [np.nan, -np.inf, 1e39])
@pytest.mark.parametrize("shape, layers", ENCODERS.values(), ids=ENCODERS)
def test_nonfinite_row_is_named_and_changes_nothing(rng, shape, layers, value):
    encoder = keras.Sequential([keras.Input(shape), *map(_copy, layers)])
    model = models.PrototypicalClassifier(encoder, 2, hidden=3)
    model.compile("sgd")
    x = rng.normal(size=(6, *shape))
    model.refit_prototypes(x, LABELS)
    before, bad = model.prototypes, spoiled(x, value)
    calls = [
        lambda: model.fit(bad, LABELS, verbose=0),
        lambda: model.classify(bad),
        lambda: model.embed(bad),
        lambda: model.scores(bad),
        lambda: model.refit_prototypes(bad, LABELS),
        lambda: model.add_classes(["a", "b"], bad, LABELS),
        lambda: model.extend_class("1", bad),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="first in row 4|[mM]ap 4 holds NaN"):
            call()
        np.testing.assert_array_equal(model.prototypes, before)


@pytest.mark.slow_on_jax
def test_classify_refuses_a_tensor_with_a_nan_by_its_scores():
    model = trained()
    bad = ops.convert_to_tensor(spoiled(vectors()))
    with pytest.raises(ValueError, match="scores of `x` holds NaN or infinity, first in row 4"):
        model.classify(bad, batch_size=3)


@pytest.mark.slow
@pytest.mark.parametrize("init", ["normal", "first_mean"])
def test_nan_in_a_pipeline_does_not_reach_prototypes(init):
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Identity()])
    model = models.PrototypicalClassifier(encoder, 2, hidden=4, init=init, decay=0.0)
    model.compile("sgd")

    def batches():
        while True:
            yield spoiled(vectors()), LABELS.astype("int32")

    history = model.fit(batches(), steps_per_epoch=1, shuffle=False, verbose=0).history
    assert np.isnan(history["loss"]).all()
    mask = np.arange(6) != 4
    for label in range(2):
        mean = vectors()[mask & (LABELS == label)].mean(axis=0)
        np.testing.assert_allclose(model.prototypes[label], mean, rtol=1e-5)


@pytest.mark.slow_on_jax
def test_nan_in_a_pipeline_does_not_reach_potatoes():
    model = calibrated()
    mask = np.arange(6) != 4
    x, labels = ops.convert_to_tensor(model.predict(matrices(), verbose=0)), LABELS.astype("int32")
    values = numpy(model.potatoes.log_distances(x, np.arange(2)))[labels, np.arange(6)]
    before = model.potatoes.get_weights()
    model.potatoes.update(x[:4], labels[:4], values[:4])
    model.potatoes.set_weights(before)
    model.potatoes.update(numpy(x)[mask], labels[mask], values[mask])
    expected = model.potatoes.get_weights()
    model.potatoes.set_weights(before)
    model.potatoes.update(spoiled(numpy(x)), labels, values)
    for actual, value in zip(model.potatoes.get_weights(), expected, strict=True):
        np.testing.assert_allclose(actual, value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_potato_network_names_the_matrix_that_is_not_finite(value):
    model = calibrated()
    before = model.get_weights()
    bad = spoiled(matrices(), value)
    for call in (model.calibrate, lambda x, y: model.fit(x, y, verbose=0)):
        with pytest.raises(ValueError, match="Input 4 of `x` holds NaN|`x` holds NaN.* row 4"):
            call(bad, LABELS)
    for actual, expected in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("value, message", [(np.nan, "first in row 4"), (1.5, r"in \[0, 1\]")])
def test_adversarial_training_refuses_what_its_attack_cannot_start_from(value, message):
    model = adversarial("prototypes")
    with pytest.raises(ValueError, match=message):
        model.fit(spoiled(vectors(), value), LABELS, verbose=0)


@pytest.mark.parametrize("make", [classifier, lambda: adversarial("prototypes"), calibrated])
def test_names_instead_of_ids_are_refused(make):
    model, names = make(), np.array(["ann", "bob"])[LABELS]
    model.compile("sgd", losses.PotatoRankingLoss() if make is calibrated else None)
    x = matrices() if make is calibrated else vectors()
    for labels in (names, names.tolist(), names.astype(object)):
        with pytest.raises(ValueError, match="'ann', 'bob'.*numpy.unique"):
            model.fit(x, labels, verbose=0)
    for labels in (np.ma.array(LABELS, mask=LABELS), LABELS * 1j, LABELS.astype("M8[D]")):
        with pytest.raises(TypeError, match="`labels` must"):
            model.fit(x, labels, verbose=0)


def test_unknown_names_are_refused_by_add_classes_and_refit():
    model, names = classifier(), np.array(["ann", "bob"])[LABELS]
    for call in (model.refit_prototypes, lambda x, y: model.add_classes(["eve"], x, y)):
        with pytest.raises(ValueError, match="'ann', 'bob'.*numpy.unique"):
            call(vectors(), names)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda x: np.ma.array(x, mask=x == x[2, 0]), r"masked, the first at \(2, 0\)"),
        (lambda x: x + 1j, "dtype complex128"),
        (lambda x: x.astype(str), "text|dtype <U"),
        (lambda x: None, "Received None"),
    ],
    ids=["masked", "complex", "text", "none"],
)
def test_inputs_other_than_real_numbers_are_refused(change, message):
    model, bad = trained(), change(vectors().astype("float64"))
    for call in (model.embed, model.scores, model.classify):
        with pytest.raises(TypeError, match=message):
            call(bad)
    if bad is not None:
        model.compile("sgd")
        with pytest.raises(TypeError, match=message):
            model.fit(bad, LABELS, verbose=0)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2.0, True, "32", None, 0, -1])
def test_invalid_batch_sizes_are_refused(size):
    model, potato = trained(), calibrated()
    calls = [
        lambda: model.classify(vectors(), batch_size=size),
        lambda: model.refit_prototypes(vectors(), LABELS, batch_size=size),
        lambda: model.add_classes(["a", "b"], vectors(), LABELS, batch_size=size),
        lambda: potato.calibrate(matrices(), LABELS, batch_size=size),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError), match="`batch_size` must be"):
            call()


@pytest.mark.slow_on_jax
def test_empty_inputs_give_empty_outputs_or_an_error():
    model = trained()
    none = vectors()[:0]
    assert numpy(model.embed(none)).shape == (0, 3)
    assert numpy(model.scores(none)).shape == (0, 2)
    z = model.embed(vectors())
    assert numpy(model.similarity(z, z[:0])).shape == (6, 0)
    assert numpy(model.similarity(z[:0], z)).shape == (0, 6)
    model.compile("sgd")
    for call in (model.classify, lambda x: model.fit(x, LABELS[:0], verbose=0)):
        with pytest.raises(ValueError, match="`x` is empty"):
            call(none)


def test_similarities_take_float64_with_float32():
    model = classifier()
    z = numpy(model.embed(vectors()))
    expected = numpy(model.similarity(z, z))
    np.testing.assert_allclose(numpy(model.similarity(z.astype("float64"), z)), expected, rtol=1e-5)
    np.testing.assert_allclose(numpy(model.distance(z, z.astype("float64"))), -expected, rtol=1e-5)


@pytest.mark.parametrize("change", [lambda z: np.ma.array(z, mask=z == z[0, 0]), lambda z: z + 1j])
def test_embeddings_other_than_real_numbers_are_refused(change):
    model = trained()
    z = numpy(model.embed(vectors()))
    calls = [
        lambda z_: model.similarity(z_, z),
        lambda z_: model.similarity(z, z_),
        model.head_scores,
        model.set_prototypes,
    ]
    for call in calls:
        with pytest.raises(TypeError, match="must hold"):
            call(change(z))


def _copy(layer):
    return type(layer).from_config(layer.get_config())
