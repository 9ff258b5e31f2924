"""Tests that confidence intervals of rates are formatted correctly."""

import pytest

from keras_dml import _figures


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((0.0062, 0.031), "0.62 to 3.1 %"),
        ((1.9e-98, 0.16), "0 to 16 %"),
        ((0.0, 0.0), "0 to 0 %"),
        ((2e-7, 3e-5), "2e-05 to 0.003 %"),
        ((0.954, 0.9951), "95 to 100 %"),
        ((1.0, 1.0), "100 to 100 %"),
    ],
)
def test_an_interval_has_two_digits_and_no_lower_end_that_says_nothing(bounds, text):
    assert _figures.interval(bounds) == text
