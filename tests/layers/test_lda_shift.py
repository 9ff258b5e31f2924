import numpy as np
import pytest

from keras_dml._backend import ops
from keras_dml.layers import LDAShift
from tests.gradients import finite_differences, gradients


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def shift(rng, units=2, **options):
    layer = LDAShift(units, **options)
    layer.build([(None, None, 4), (None, 3)])
    layer.set_weights([rng.normal(size=(3, units)), rng.normal(size=units)])
    return layer


def test_a_new_one_moves_nothing(rng):
    x = rng.normal(size=(2, 5, 4)).astype("float32")
    np.testing.assert_array_equal(numpy(LDAShift(4)([x, np.ones((2, 3))])), x)


def test_the_first_filters_move_at_all_steps_alike_and_not_beyond_the_limit(rng):
    layer, x = shift(rng, limit=0.5), rng.normal(size=(6, 5, 4)).astype("float32")
    features = 3 * rng.normal(size=(6, 3)).astype("float32")
    moved = numpy(layer([x, features])) - x
    assert (moved[..., 2:] == 0).all() and np.ptp(moved, axis=1).max() < 1e-6
    kernel, bias = layer.get_weights()
    expected = 0.5 * np.tanh((features @ kernel + bias) / 0.5)
    np.testing.assert_allclose(moved[:, 0, :2], expected, rtol=0, atol=1e-5)
    assert 0.4 < np.abs(moved).max() <= 0.5001


def test_the_mask_of_the_filters_passes_on(rng):
    mask = np.array([[True, False]])
    assert LDAShift(1).compute_mask([None, None], [mask, None]) is mask
    assert LDAShift(1).compute_mask([None, None], None) is None


def test_weights_get_the_gradients_of_finite_differences(rng):
    layer = shift(rng, dtype="float64")
    x, features = rng.normal(size=(3, 4, 4)), rng.normal(size=(3, 3))
    weights = layer.get_weights()
    slopes = rng.normal(size=(3, 4, 4))

    def value(kernel, bias):
        answer, _ = layer.stateless_call([kernel, bias], [], [x, features])
        return ops.sum(answer * slopes)

    found = gradients(value, *weights)
    for place, weight in enumerate(weights):

        def of_one(array, place=place):
            return value(*[array if i == place else other for i, other in enumerate(weights)])

        np.testing.assert_allclose(found[place], finite_differences(of_one, weight), rtol=1e-6)


@pytest.mark.parametrize(
    "shapes",
    [
        (None, None, 4),
        [(None, None, None), (None, 3)],
        [(None, 3), (None, None, 4)],
        [(None, 4), (None, 3)],
        [(None, None, 4), (None, 2, 3)],
        [(None, None, 4)],
    ],
)
def test_other_inputs_are_refused(shapes):
    with pytest.raises(ValueError, match=r"a list \[filters, features\] of shapes"):
        LDAShift(2).build(shapes)


def test_more_discriminants_than_filters_are_refused():
    with pytest.raises(ValueError, match="5 discriminants need as many filters; there are 4"):
        LDAShift(5).build([(None, None, 4), (None, 3)])


@pytest.mark.parametrize("units", [0, -1, 1.5, "2"])
def test_units_are_a_whole_number(units):
    with pytest.raises(ValueError, match="`units` must be a whole number of at least 1"):
        LDAShift(units)


@pytest.mark.parametrize("limit", [0, -1, float("inf"), "2"])
def test_a_limit_is_positive(limit):
    with pytest.raises(ValueError, match="`limit` must be a positive number"):
        LDAShift(1, limit=limit)
