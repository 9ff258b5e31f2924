"""Tests that functions reject values that are not real numbers, such as texts, dates and masked
arrays."""

import fractions

import keras
import numpy as np
import pytest

from keras_dml._arrays import number, positive, real

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


def test_who_gives_nothing_is_not_told_of_ragged_rows():
    with pytest.raises(TypeError, match=r"`scores` must hold real numbers. Received None\.$"):
        real("`scores`", None)


@pytest.mark.parametrize("inside", [lambda x: x, lambda x: [x, x], lambda x: [[x]]])
def test_a_masked_value_is_refused_with_its_index(inside):
    values = np.ma.masked_array(np.zeros((2, 3)), mask=[[0, 0, 0], [0, 1, 0]])
    with pytest.raises(TypeError, match=r"1 of 6 masked, the first at \(1, 1\)"):
        real("`x`", inside(values))


def test_a_masked_array_without_a_masked_value_is_its_data():
    values = np.ma.masked_array([1.0, 2.0], mask=[False, False])
    result = real("`x`", values)
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, [1.0, 2.0])


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


@pytest.mark.parametrize("value", [0.5, 1, np.float16(0.5), np.int8(3), fractions.Fraction(1, 2)])
def test_a_number_of_every_type_becomes_a_float(value):
    for result in (number("margin", value), number("margin", value, 0.5), positive("scale", value)):
        assert type(result) is float and result == value


@pytest.mark.parametrize("value", [None, "0.5", [0.5], np.array([0.5]), 1j, True, {}])
def test_what_is_no_number_is_refused_by_its_name(value):
    for convert in (number, positive):
        with pytest.raises(TypeError, match="`margin` must be a number. Received margin="):
            convert("margin", value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1e-9, 0])
def test_a_number_out_of_range_is_refused_with_the_range(value):
    with pytest.raises(ValueError, match="`scale` must be a positive number. Received scale="):
        positive("scale", value)
    if value:
        with pytest.raises(ValueError, match="`l2` must be a number of at least 0. Received l2="):
            number("l2", value, 0)
    if not np.isfinite(value):
        with pytest.raises(ValueError, match="`margin` must be finite. Received margin="):
            number("margin", value)
