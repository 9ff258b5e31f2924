"""Tests the Square Attack (Andriushchenko2020): the squares, the schedule of their sizes, and the
number of queries."""

import numpy as np
import pytest

from keras_dml._backend import keras
from keras_dml.evaluation import attacks
from keras_dml.evaluation._robustness import Network
from tests.goldens import load

SQUARE = load("toolbox")["cases"][-1]
PIXELS = (6, 6, 1)


def rising(x, rows):
    """Computes a margin that is always below 0, and that changes if the input changes."""
    weights = np.random.default_rng(0).normal(size=x.shape[1:])
    return (x * weights).reshape(len(x), -1).sum(axis=1) - 1e3


def tried_by(x, epsilon, queries, rng, margins=rising):
    """Runs a search. Returns the result of the search, all points that the search evaluated, and
    the margins of these points."""
    points, values = [], []

    def recorded(x, rows):
        points.append(x.copy())
        values.append(margins(x, rows))
        return values[-1].copy()

    found, asked = attacks._square_search(recorded, x, epsilon, queries, rng)
    assert asked == sum(map(len, points))
    return found, np.stack(points), np.stack(values)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("level", [0.0, 0.5, 1.0])  # 0 can only rise, and 1 can only fall
def test_a_square_changes_something_within_ball_and_bounds(channels, level, rng):
    x = np.full((5, 8, 8, channels), level, "float32")
    x[:, ::2] = 0.4
    found, points, values = tried_by(x, 0.2, 300, rng)
    best, top = points[0], values[0]
    for point, value in zip(points[1:], values[1:], strict=True):
        change = np.abs(point - best) > 1e-7
        assert change.any(axis=(1, 2, 3)).all()
        better = value > top
        best = np.where(better[:, None, None, None], point, best)
        top = np.maximum(top, value)
    np.testing.assert_array_equal(found, best)
    assert np.abs(points - x).max() <= 0.2 + 1e-6
    assert points.min() >= 0 and points.max() <= 1


def test_it_starts_from_vertical_stripes_and_draws_squares(rng):
    x = np.full((4, 8, 8, 2), 0.5, "float32")
    _, points, _ = tried_by(x, 0.25, 60, rng, lambda x, rows: np.full(len(x), -1.0))
    start = points[0]
    np.testing.assert_allclose(np.abs(start - x), 0.25)
    np.testing.assert_array_equal(start, np.broadcast_to(start[:, :1], start.shape))
    assert len(np.unique(start[:, 0, :, 0])) == 2
    for number, point in enumerate(points[1:]):  # the search keeps no square
        side = attacks._square_side(number / 60, x[0])
        rows, columns = (np.flatnonzero((point[0] != start[0]).any(axis=axes)) for axes in
                         ((1, 2), (0, 2)))  # fmt: skip
        assert np.ptp(rows) < side and np.ptp(columns) < side


def test_the_share_of_a_square_follows_the_published_schedule():
    """Tests that the fraction of pixels in a square is halved after 10, 50, 200, ... of 10,000
    squares."""
    queries = load("toolbox")["inputs"]["queries"]
    for done, fraction in zip(SQUARE["squares"], SQUARE["fractions"], strict=True):
        side = attacks._square_side(done / queries, np.zeros(PIXELS))
        assert side == max(1, round(np.sqrt(fraction * 36)))
    image = np.zeros((100, 100, 1))
    sides = [attacks._square_side(i / 10_000, image) for i in (10, 11, 50, 51, 8000, 8001)]
    assert sides == [89, 63, 63, 45, 6, 4]


@pytest.mark.slow
def test_it_breaks_every_image_that_the_toolbox_breaks(rng):
    given = {name: np.array(value) for name, value in load("toolbox")["inputs"].items()}
    x = given["x"].astype("float32")
    layers = [
        keras.layers.Flatten(),
        keras.layers.Dense(16, "relu"),
        keras.layers.Dense(6, use_bias=False),
    ]
    model = keras.Sequential([keras.Input(PIXELS), *layers])
    model.set_weights([given[name] for name in ("first", "bias", "last")])
    network, y = Network(model, None, 64), given["y"]
    found, _ = attacks._square_search(
        lambda x, rows: network.margins(x, y[rows]), x, float(given["epsilon"]), 500, rng
    )
    broken, theirs = network.margins(found, y) > 0, np.array(SQUARE["broken"])
    by_gradients = np.array(load("toolbox")["cases"][0]["broken"])
    assert 0.2 < theirs.mean() < 0.8
    assert not (theirs & ~broken).any()
    assert not (broken & ~by_gradients).any()


def test_on_vectors_it_raises_the_margin_and_skips_broken_examples(rng):
    asked = []

    def margins(x, rows):
        asked.append(rows)
        return x.sum(axis=1) - np.array([2.0, 9.0])[rows]

    x = np.full((2, 6), 0.5, "float32")
    adversarial, queries = attacks._square_search(margins, x, 0.3, 400, rng)
    assert margins(adversarial, np.array([0, 1]))[0] > 0  # at the start, 6 x 0.5 is above 2
    assert adversarial[1].sum() == pytest.approx(4.8)  # 6 x 0.8
    assert queries == sum(map(len, asked[:-1])) == 401


def test_the_same_seed_draws_the_same_squares():
    x = np.full((3, 8, 8, 1), 0.5, "float32")
    one, again, other = (tried_by(x, 0.1, 20, np.random.default_rng(seed))[1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.slow
def test_apgd_after_squares_breaks_networks_that_hide_gradients(rng):
    """Tests a network whose gradient is zero unless the first pixel of the image is dark."""

    def hidden(x):
        dark = keras.ops.relu(0.35 - x[:, 0]) / 0.35  # value and gradient are mostly 0
        return keras.ops.stack([0.05 + 0 * dark, dark * (1 - x[:, 1])], axis=1)

    class Hiding(keras.Model):
        def call(self, inputs, training=False):
            return hidden(inputs)

    x, y = np.full((40, 2), 0.6, "float32"), np.zeros(40, int)
    network = Network(Hiding(), None, 64)
    broken = {}
    for attack in (attacks.APGD(0.3, 20, loss="margin"), attacks.SquareAPGD(0.3, 5, 20)):
        found, *_ = attack.perturb(network, x, y, rng)
        broken[attack.name] = np.mean(network.margins(found, y) > 0)
        assert np.abs(found - x).max() <= 0.3 + 1e-6
    assert broken["APGD-20 margin"] < 0.3 < 0.5 < broken["Square-5 + APGD-20 margin"]


def test_each_halving_of_the_published_schedule_comes_after_its_square():
    """Tests the size of the squares in a search of 10,000 squares. The size is halved after square
    10, square 50, and so on, so that the squares cover the fraction 0.8 / 2^k of the pixels.
    """
    image = np.zeros((1000, 1000, 1))
    for k, after in enumerate((10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000)):
        before, halved = (attacks._square_side((after + i + 0.5) / 10_000, image) for i in (0, 1))
        assert before == round(1000 * np.sqrt(0.8 / 2**k))
        assert halved == round(1000 * np.sqrt(0.8 / 2 ** (k + 1)))
