"""Tests `zoo.under_attack`, which attacks images of digits part by part. Slow attacks run on a few
images only.
"""

import numpy as np
import pytest

from keras_dml import evaluation
from keras_dml._backend import keras
from keras_dml.evaluation import attacks
from keras_dml.models import PrototypicalClassifier
from zoo import under_attack


@pytest.fixture
def small(monkeypatch):
    """Replaces the attacks by weak ones, which run on parts of 4 images. The slow attack runs on 6
    images only.
    """
    fgsm, square = attacks.FGSM(0.3), attacks.Square(0.3, queries=3)
    for name, value in {"ON_ALL": (fgsm,), "ON_FIRST": (square,), "FIRST": 6, "PART": 4}.items():
        monkeypatch.setattr(under_attack, name, value)
    rng = np.random.default_rng(0)
    x, y = rng.random((10, 4, 4, 1)).astype("float32"), np.arange(10) % 2
    encoder = keras.Sequential(
        [keras.Input((4, 4, 1)), keras.layers.Flatten(), keras.layers.Dense(3)]
    )
    return PrototypicalClassifier(encoder, 2, hidden=(4,)), x, y, fgsm, square


@pytest.mark.slow
def test_the_slow_attacks_are_on_the_first_parts_and_the_union_is_per_image(small, tmp_path):
    model, x, y, fgsm, square = small
    right = under_attack.measured(model, x, y, tmp_path)
    assert {name: len(one) for name, one in right.items()} == {
        "FGSM": 10,
        "Square-3": 8,
        "union of the first 1": 10,
        under_attack.UNION: 8,
    }
    whole = evaluation.robustness(model, x, y, [fgsm], progress=False)
    np.testing.assert_array_equal(right["FGSM"], whole.attacks["FGSM"].robust)
    np.testing.assert_array_equal(right[under_attack.UNION], right["FGSM"][:8] & right["Square-3"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"attacks_{start}.npz" for start in (0, 4, 8)
    ]


def test_rows_have_the_interval_of_wilson():
    (row,) = under_attack.figures({"FGSM": np.arange(20) < 18})
    assert row["attack"] == "FGSM" and row["epsilon"] == 0.3
    assert (row["value"], row["trials"]) == (0.9, 20)
    assert row["ci95"] == pytest.approx([0.699, 0.972], abs=1e-3)
