"""Tests the removal of classes from a prototypical classifier."""

import numpy as np
import pytest

from keras_dml import models
from keras_dml._backend import keras
from keras_dml.evaluation import generalized_accuracy
from tests.geometry.perceptrons import numpy

NAMES = ["ann", "bob", "eve"]
once = pytest.mark.skipif(
    keras.backend.backend() == "jax", reason="the same on every backend, and JAX compiles for long"
)


def data():
    rng = np.random.default_rng(5)
    y = np.arange(12) % 3
    return rng.normal(size=(12, 4)).astype("float32"), y


def classifier(aux="softmax"):
    """Returns a classifier of three people after two training steps."""
    keras.utils.set_random_seed(2)
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="tanh")])
    model = models.PrototypicalClassifier(
        encoder, 3, hidden=6, dropout=0.0, aux=aux, class_names=NAMES
    )
    model.compile(keras.optimizers.Adam(0.01), metrics=["accuracy"])
    x, y = data()
    model.fit(x, y, batch_size=6, shuffle=False, verbose=0)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("aux", ["softmax", pytest.param("am", marks=once)])
def test_removing_a_class_keeps_the_others_bit_for_bit(aux):
    model, (x, _) = classifier(aux), data()
    before = model.prototypes
    logits, scores = numpy(model.scores(x, "dol")), numpy(model(x))
    units = [numpy(weight) for weight in model.aux_head.weights]
    model.remove_classes(["bob"])
    assert model.class_names == ["ann", "eve"]
    np.testing.assert_array_equal(model.prototypes, before[[0, 2]])
    for old, new in zip(units, model.aux_head.weights, strict=True):
        np.testing.assert_array_equal(numpy(new), old[..., [0, 2]])
    np.testing.assert_allclose(numpy(model.scores(x, "dol")), logits[:, [0, 2]], rtol=1e-6)
    np.testing.assert_allclose(numpy(model(x)), scores[:, [0, 2]], rtol=1e-6)
    # the optimizer's moments contained gradients of bob's unit, so they are reset
    shapes = {tuple(variable.shape) for variable in model.optimizer.variables}
    assert shapes - {()} == {tuple(weight.shape) for weight in model.trainable_weights}
    assert not any(numpy(variable).any() for variable in model.optimizer.variables[2:])


@pytest.mark.slow
def test_training_continues_after_removal_and_files_omit_the_class(tmp_path):
    model, (x, y) = classifier(), data()
    model.remove_classes(["bob"])
    x, y = x[y != 1], np.where(y[y != 1] == 2, 1, 0)
    assert np.isfinite(model.fit(x, y, verbose=0).history["loss"]).all()
    with pytest.raises(ValueError, match="ids from 0 to 1"):
        model.fit(x, y + 1, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.class_names == ["ann", "eve"]
    assert [weight.shape for weight in loaded.weights] == [item.shape for item in model.weights]
    assert loaded.fit(x, y, verbose=0).history == model.fit(x, y, verbose=0).history


@pytest.mark.slow
@once
def test_removing_an_added_class_keeps_the_auxiliary_head_and_the_optimizer():
    model, (x, _) = classifier(), data()
    model.add_classes(["new"], x[:2], ["new", "new"])
    head, steps = model.aux_head, int(model.optimizer.iterations)
    model.remove_classes(["new"])
    assert model.aux_head is head and int(model.optimizer.iterations) == steps == 2
    assert model.class_names == NAMES


@pytest.mark.slow
@once
def test_all_training_classes_can_be_removed(tmp_path):
    model, (x, _) = classifier(), data()
    model.add_classes(["new", "other"], x[:4], ["new", "other", "new", "other"])
    remaining = model.prototypes[3:]
    model.remove_classes(NAMES)
    np.testing.assert_array_equal(model.prototypes, remaining)
    with pytest.raises(ValueError, match='has no "dol" head'):
        model.scores(x, "dol")
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.class_names == ["new", "other"]
    np.testing.assert_array_equal(numpy(loaded(x)), numpy(model(x)))
    assert np.isfinite(model.fit(x, np.arange(12) % 2, verbose=0).history["loss"]).all()


@once
def test_uncompiled_classifier_removes_a_class():
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model = models.PrototypicalClassifier(encoder, 3, hidden=6, class_names=NAMES)
    model.remove_classes(["ann"])
    assert model.aux_head.units == 2 and model.predict(data()[0], verbose=0).shape == (12, 2)


@pytest.mark.slow
@once
def test_failed_removal_changes_nothing():
    model = classifier()
    before, units = model.prototypes, model.aux_head.units
    for names, message in ((["bob", "joe"], r"of which \['joe'\]"), (NAMES, "all 3 classes")):
        with pytest.raises(ValueError, match=message):
            model.remove_classes(names)
        np.testing.assert_array_equal(model.prototypes, before)
        assert model.class_names == NAMES and model.aux_head.units == units


@pytest.mark.slow
def test_add_classes_and_refit_accept_names():
    item, second, (x, y) = classifier(), classifier(), data()
    item.refit_prototypes(x, y)
    second.refit_prototypes(x, np.array(NAMES)[y])
    np.testing.assert_array_equal(item.prototypes, second.prototypes)
    item.add_classes(["p", "q"], x[:3], [1, 0, 1])
    second.add_classes(["p", "q"], x[:3], np.array(["q", "p", "q"]))
    np.testing.assert_array_equal(item.prototypes, second.prototypes)


@pytest.mark.slow
@once
def test_added_classes_compete_with_old_ones_also_after_loading(tmp_path, rng):
    """Tests the scores of added classes. The encoder separates five clusters, and the similarity
    was trained on only three of them.
    """
    keras.utils.set_random_seed(2)
    means = 4 * rng.normal(size=(5, 4))
    y = np.repeat(np.arange(5), 24)
    x = (means[y] + rng.normal(size=(len(y), 4))).astype("float32")
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
    model = models.PrototypicalClassifier(encoder, 3, hidden=16, class_names=NAMES)
    model.compile(keras.optimizers.Adam(1e-2))
    old = y < 3
    model.fit(x[old], y[old], epochs=40, batch_size=24, verbose=0)
    model.refit_prototypes(x[old], y[old])
    before = numpy(model(x))
    support = np.concatenate([np.flatnonzero(y == k)[:3] for k in (3, 4)])
    model.add_classes(["joe", "kim"], x[support], y[support] - 3)
    np.testing.assert_array_equal(numpy(model(x))[:, :3], before)
    np.testing.assert_allclose(model.predict(x, verbose=0), numpy(model(x)), rtol=1e-4, atol=1e-4)
    names = np.array([*NAMES, "joe", "kim"])
    accuracy = generalized_accuracy(names[model.classify(x)], names[y], ["joe", "kim"])
    assert accuracy.harmonic_mean > 0.9
    among = model.classify(x[~old], among=["joe", "kim"])
    assert np.mean(among == y[~old]) > 0.9
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(numpy(loaded(x)), numpy(model(x)))
    copy = models.PrototypicalClassifier.from_config(model.get_config())
    copy.set_weights(model.get_weights())
    np.testing.assert_array_equal(numpy(copy(x)), numpy(model(x)))
    loaded.remove_classes(["ann", "joe"])
    assert loaded.class_names == ["bob", "eve", "kim"]
    assert np.mean(loaded.classify(x[y == 4]) == 2) > 0.9
