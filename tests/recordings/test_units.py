"""Tests that `recordings.convert` converts between units of the same quantity."""

import pathlib

import numpy as np
import pytest

from keras_dml import recordings

G = 9.80665


def of(units):
    values = np.arange(1, 1 + 2 * len(units), dtype=np.float32).reshape(2, -1)
    names = tuple(f"c{i}" for i in range(len(units)))
    return recordings.Recording(
        pathlib.Path("walk.csv"), values, names, tuple(units), 50.0, ("a.",)
    )


@pytest.mark.parametrize(
    ("unit", "wanted", "factor"),
    [
        ("g", "m/s^2", G),
        ("G", "m/s\u00b2", G),
        ("m/s2", "g", 1 / G),
        ("mg", "g", 1e-3),
        ("mg", "m/s^2", G / 1000),
        ("m/s\u00b2", "mg", 1000 / G),
        ("cm/s^2", "m/s2", 1e-2),
        ("deg/s", "rad/s", np.pi / 180),
        ("\u00b0/s", "rad/s", np.pi / 180),
        ("dps", "rad/s", np.pi / 180),
        ("mdps", "deg/s", 1e-3),
        ("rad/s", "deg/s", 180 / np.pi),
        ("mm", "m", 1e-3),
        ("m", "mm", 1e3),
        ("cm", "m", 1e-2),
        ("uV", "V", 1e-6),
        ("\u00b5V", "mV", 1e-3),
        ("\u03bcV", "uV", 1),
        ("mV", "uV", 1e3),
        ("V", "uV", 1e6),
        ("nV", "uV", 1e-3),
        ("deg", "rad", np.pi / 180),
        ("\u00b5T", "nT", 1e3),
    ],
)
def test_a_known_unit_is_converted_with_a_note(unit, wanted, factor):
    original = of([unit, unit])
    converted = recordings.convert(original, [wanted, wanted])
    np.testing.assert_allclose(converted.values, original.values * factor, rtol=1e-6)
    assert converted.values.dtype == np.float32 and converted.units == (wanted, wanted)
    if factor == 1:
        assert converted.notes == ("a.",)
    else:
        assert len(converted.notes) == 2
        assert f"Channels in {unit} were multiplied by {factor:.6g}" in converted.notes[1]
    np.testing.assert_array_equal(original.values, of([unit, unit]).values)


@pytest.mark.parametrize(
    ("unit", "wanted"),
    [
        ("g", "deg/s"),
        ("m", "m/s^2"),
        ("V", "T"),
        ("counts", "g"),
        ("g", "as recorded"),
        ("g", "[-1, 1]"),
        (None, "g"),
        ("g", None),
        ("deg", "deg/s"),
        ("furlong", "m"),
    ],
)
def test_units_that_cannot_be_converted_do_not_change(unit, wanted):
    original = of([unit])
    converted = recordings.convert(original, [wanted])
    np.testing.assert_array_equal(converted.values, original.values)
    assert (converted.units, converted.notes) == ((unit,), ("a.",))


@pytest.mark.parametrize(
    ("unit", "wanted"),
    [("m/s\u00b2", "m/s^2"), ("m/s2", "m/s\u00b2"), ("M/S^2", "m/s^2"), ("m / s^2", "m/s^2"),
     ("m/s/s", "m/s^2"), ("m\u22c5s\u207b\u00b2", "m/s^2"), ("\u00b0/s", "deg/s"),
     ("uV", "\u00b5V"),
     ("m/(s^2)", "m/s^2"), ("degrees/s", "dps"), ("gs", "g"),
     ("m/s\u00c2\u00b2", "m/s^2"), ("counts", "Counts")],
)  # fmt: skip
def test_another_spelling_is_the_same_unit(unit, wanted):
    original = of([unit])
    converted = recordings.convert(original, [wanted])
    np.testing.assert_array_equal(converted.values, original.values)
    assert (converted.units, converted.notes) == ((wanted,), ("a.",))


def test_each_channel_has_its_own_unit():
    original = of(["g", "deg/s", None, "m/s^2"])
    converted = recordings.convert(original, ["m/s^2", "rad/s", "m", "m/s^2"])
    factors = [G, np.pi / 180, 1, 1]
    np.testing.assert_allclose(converted.values, original.values * factors, rtol=1e-6)
    assert converted.units == ("m/s^2", "rad/s", None, "m/s^2") and len(converted.notes) == 3


def test_a_wrong_number_of_units_is_refused():
    with pytest.raises(ValueError, match="`units` has length 1, .* 2 channels"):
        recordings.convert(of(["g", "g"]), ["g"])
