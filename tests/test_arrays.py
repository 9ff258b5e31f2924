"""Only real numbers pass as numbers."""

import keras
import numpy as np
import pytest

from keras_dml._arrays import real

STRUCTURED = np.zeros(3, [("x", "f4"), ("y", "f4")])
NOT_REAL = {
    "complex": np.ones((2, 3), complex),
    "text": np.array(["1.5", "2.5"]),
    "bytes": np.array([b"1.5"]),
    "dates": np.array(["2026-01-01"], "datetime64[D]"),
    "spans": np.array([1, 2], "timedelta64[s]"),
    "structured": STRUCTURED,
    "objects": np.array([1.0, None]),
    "nothing": None,
    "huge integers": [10**30],
    "ragged rows": [[1.0, 2.0], [3.0]],
}


@pytest.mark.parametrize("values", NOT_REAL.values(), ids=NOT_REAL)
def test_what_is_no_real_number_is_refused_by_name(values):
    with pytest.raises(TypeError, match=r"`scores`.* must hold real numbers"):
        real("`scores`", values)


@pytest.mark.parametrize("inside", [lambda x: x, lambda x: [x, x], lambda x: [[x]]])
def test_a_masked_value_is_refused_with_its_index(inside):
    values = np.ma.masked_array(np.zeros((2, 3)), mask=[[0, 0, 0], [0, 1, 0]])
    with pytest.raises(TypeError, match=r"1 of 6 masked, the first at \(1, 1\)"):
        real("`x`", inside(values))


def test_a_masked_array_without_a_masked_value_is_its_data():
    values = np.ma.masked_array([1.0, 2.0], mask=[False, False])
    found = real("`x`", values)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, [1.0, 2.0])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float64", "bfloat16"])
def test_real_numbers_of_every_type_pass(dtype):
    values = keras.ops.cast(keras.ops.ones((2,)), dtype)
    np.testing.assert_array_equal(real("`x`", values, np.float32), np.ones(2, np.float32))


def test_an_array_is_not_copied():
    values = np.ones(3, np.float32)
    assert real("`x`", values) is values
    assert real("`x`", values, np.float32) is values


def test_what_is_beyond_the_type_becomes_infinite_without_a_warning():
    assert np.isinf(real("`x`", np.array([1e300]), np.float32)).all()
