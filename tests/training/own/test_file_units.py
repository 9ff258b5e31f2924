"""Tests that files of a folder in different units are converted to the most common unit."""

import numpy as np
import pytest

from keras_dml.training.own import files


def walk(path, unit, factor):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = "".join(f"{0.02 * i:.2f},{factor * (i % 3):.6f}\n" for i in range(9))
    path.write_text(f"t,x ({unit})\n{rows}")


def test_files_in_another_unit_are_converted_to_the_unit_of_most(tmp_path):
    for person in ("ann", "bob"):
        walk(tmp_path / person / "1.csv", "g", 1)
    walk(tmp_path / "bob/2.csv", "m/s^2", 9.80665)
    walk(tmp_path / "bob/3.csv", "deg/s", 1)
    read = files.read(tmp_path)
    assert read.units == ("g",) and [*read.refused] == ["bob/3.csv"]
    assert len(read.recordings) == 3
    for values in read.recordings:
        np.testing.assert_allclose(values[:, 0], np.arange(9) % 3, rtol=1e-5)
        assert values.shape == (9, 1)
    assert read.rate_hz == pytest.approx(50)
