import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.schedules import InverseRootSchedule
from tests.goldens import golden


@pytest.fixture
def in_float64():
    before = keras.config.floatx()
    keras.config.set_floatx("float64")
    yield
    keras.config.set_floatx(before)


def test_rates_are_those_of_the_definition(in_float64):
    example = golden("warmup-schedule", "seeds_p2")
    given = example["inputs"]
    schedule = InverseRootSchedule(given["base"], given["warmup"])
    found = [float(schedule(step - 1)) for step in given["steps"]]  # Keras counts from 0
    np.testing.assert_allclose(found, example["expected"]["rate"], rtol=1e-9)


def test_the_first_update_has_a_rate_and_the_peak_is_where_it_is_said():
    schedule = InverseRootSchedule(1, 16)
    rates = ops.convert_to_numpy(schedule(np.arange(64)))
    assert rates[0] > 0
    assert rates.argmax() == 15
    np.testing.assert_allclose(rates[15], 0.25, rtol=1e-6)


def test_an_optimizer_takes_it_and_its_configuration_rebuilds_it():
    optimizer = keras.optimizers.SGD(InverseRootSchedule(0.5, 100))
    weight = keras.Variable(np.zeros(1, "float32"))
    optimizer.apply([ops.ones(1)], [weight])
    np.testing.assert_allclose(ops.convert_to_numpy(weight), [-0.5 * 100**-1.5], rtol=1e-5)
    clone = keras.optimizers.SGD.from_config(optimizer.get_config())
    assert clone._learning_rate.get_config() == {"base": 0.5, "warmup": 100.0}


@pytest.mark.parametrize("arguments", [(0,), (1, 0), (-1, 10)])
def test_rates_that_are_not_positive_are_refused(arguments):
    with pytest.raises(ValueError, match="`base` and `warmup` must be positive"):
        InverseRootSchedule(*arguments)
