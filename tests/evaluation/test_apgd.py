"""Tests Auto-PGD (APGD) against Algorithm 1 of Croce2020 and the Adversarial Robustness Toolbox."""

import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml._backend.gradients import value_and_gradient
from keras_dml.evaluation import attacks
from keras_dml.evaluation._robustness import Network
from keras_dml.losses import robust
from tests.goldens import load

CLASSES = 6


@pytest.fixture(scope="module")
def given():
    """Returns the weights, the images and the settings of the worked example."""
    found = {name: np.array(value) for name, value in load("toolbox")["inputs"].items()}
    return {
        name: value.astype("float32") if value.dtype.kind == "f" else value
        for name, value in found.items()
    }


@pytest.fixture(scope="module")
def network(given):
    layers = [
        keras.layers.Flatten(),
        keras.layers.Dense(given["first"].shape[1], "relu"),
        keras.layers.Dense(CLASSES, use_bias=False),
    ]
    model = keras.Sequential([keras.Input(given["x"].shape[1:]), *layers])
    model.set_weights([given[name] for name in ("first", "bias", "last")])
    return Network(model, None, 64)


@pytest.fixture(params=["cross_entropy", "dlr"])
def case(request):
    return next(one for one in load("toolbox")["cases"] if one.get("loss") == request.param)


class Recorded:
    """Objective that records points and loss values, and reports that no point is misclassified."""

    def __init__(self, network, y, loss, stops=False):
        self.network, self.y, self.loss, self.stops = network, y, loss, stops
        self.points, self.values, self.rows, self.broken = [], [], [], []

    def __call__(self, x, rows):
        values, gradient, margins, _ = self.network.gradient(x, self.y[rows], self.loss)
        for kept, one in zip(
            (self.points, self.values, self.rows, self.broken),
            (x, values, rows, margins > 0),
            strict=True,
        ):
            kept.append(one.copy())
        return values, gradient, (margins > 0) & self.stops


def algorithm_1(objective, x, start, epsilon, steps):
    """Runs Croce2020, Algorithm 1, for one image. Returns all points at which the loss was
    computed, and the point with the highest loss."""
    marks, length = [0.0, 0.22], None
    while marks[-1] <= 1:
        marks.append(marks[-1] + max(marks[-1] - marks[-2] - 0.03, 0.06))
    marks = [int(np.ceil(one * steps - 1e-6)) for one in marks[:-1]]

    def inside(point):
        return np.clip(np.clip(point, x - epsilon, x + epsilon), 0, 1)

    points = [start]
    f, g = objective(start)
    top, at, at_gradient = f, start, g
    eta, before, current = 2 * epsilon, start, start
    rises, top_before, halved_before = 0, top, True
    for k in range(1, steps + 1):
        z = inside(current + eta * np.sign(g))
        new = z if k == 1 else inside(current + 0.75 * (z - current) + 0.25 * (current - before))
        before, current = current, new
        points.append(new)
        value, g = objective(new)
        rises += value > f
        f = value
        if f > top:
            top, at, at_gradient = f, current, g
        if k in marks:
            length = k - marks[marks.index(k) - 1]
            halved = rises < 0.75 * length or (not halved_before and top <= top_before)
            if halved:
                eta, current, g, f = eta / 2, at, at_gradient, top
            rises, top_before, halved_before = 0, top, halved
    return points, at


@pytest.mark.slow
def test_it_takes_the_steps_of_algorithm_1(network, given, case):
    rows = np.arange(6)
    x, y = given["x"][rows], given["y"][rows]
    start = np.array(case["start"], "float32")[rows]
    recorded = Recorded(network, y, case["loss"])
    best, broken = attacks._apgd(recorded, x, start, given["epsilon"], 60)
    assert not broken.any()
    for row in rows:

        def objective(point, row=row):
            values, gradient, *_ = network.gradient(point[None], y[[row]], case["loss"])
            return values[0], gradient[0]

        points, at = algorithm_1(objective, x[row], start[row], given["epsilon"], 60)
        np.testing.assert_allclose([one[row] for one in recorded.points], points, rtol=0, atol=2e-6)
        np.testing.assert_allclose(best[row], at, rtol=0, atol=2e-6)


def test_losses_equal_those_of_the_toolbox_up_to_the_first_checkpoint(network, given, case):
    recorded = Recorded(network, given["y"], case["loss"])
    start = np.array(case["start"], "float32")
    attacks._apgd(recorded, given["x"], start, given["epsilon"], int(given["steps"]))
    theirs = np.array(case["values"])
    ours = np.array(recorded.values[: len(theirs)])
    # compared only until an image is misclassified: if the true class ranks third, the gradient of
    # the DLR consists of rounding errors
    broken = np.logical_or.accumulate(recorded.broken[: len(theirs)], axis=0)
    compared = ~np.roll(broken, 1, axis=0) | (np.arange(len(theirs)) == 0)[:, None]
    assert compared.mean() > 0.6
    np.testing.assert_allclose(ours[compared], theirs[compared], rtol=1e-4, atol=1e-5)


def test_it_breaks_every_image_that_the_toolbox_breaks(network, given, case):
    objective = Recorded(network, given["y"], case["loss"], stops=True)
    start = np.array(case["start"], "float32")
    _, broken = attacks._apgd(objective, given["x"], start, given["epsilon"], int(given["steps"]))
    theirs = np.array(case["broken"])
    assert 0.2 < theirs.mean() < 0.8
    assert not (theirs & ~broken).any()  # the best iterate succeeds at least as often as the last
    assert (broken & ~theirs).sum() <= 2


@pytest.mark.parametrize("loss", ["cross_entropy", "margin", "dlr"])
def test_a_broken_image_stays_broken_and_is_not_evaluated_again(network, given, loss, rng):
    x, y = given["x"], given["y"]
    objective = Recorded(network, y, loss, stops=True)
    start = np.clip(x + rng.uniform(-0.06, 0.06, x.shape), 0, 1).astype("float32")
    found, broken = attacks._apgd(objective, x, start, 0.06, 40)
    fell = np.concatenate(
        [rows[mask] for rows, mask in zip(objective.rows, objective.broken, strict=True)]
    )
    assert len(fell) == len(set(fell))  # each row occurs once
    np.testing.assert_array_equal(np.flatnonzero(broken), np.sort(fell))
    margins = network.margins(found, y)
    assert (margins[broken] > 0).all() and (margins[~broken] <= 0).all()
    asked = np.concatenate(objective.rows)
    assert (np.bincount(asked)[~broken] == 41).all()


def test_the_best_point_is_returned_and_more_steps_never_lower_its_value(network, given, rng):
    x, y = given["x"], given["y"]
    start = np.clip(x + rng.uniform(-0.06, 0.06, x.shape), 0, 1).astype("float32")
    recorded = Recorded(network, y, "margin")
    found, _ = attacks._apgd(recorded, x, start, 0.06, 40)
    np.testing.assert_allclose(
        network.margins(found, y), np.max(recorded.values, axis=0), rtol=1e-5, atol=1e-6
    )
    running = np.maximum.accumulate(recorded.values, axis=0)
    assert (running[-1] >= running[20]).all() and (running[-1] > running[20]).any()


def test_the_checkpoints_are_those_of_the_paper():
    assert sorted(attacks._apgd_checkpoints(100)) == [22, 41, 57, 70, 80, 87, 93, 99]


@pytest.mark.parametrize("loss", ["dlr", "targeted"])
def test_the_gradient_of_the_dlr_is_that_of_finite_differences(loss, rng):
    logits = rng.normal(size=(4, CLASSES)).astype("float32") * 3
    y, targets = np.array([0, 1, 2, 3]), np.array([5, 4, 0, 1])

    def values_of(logits):
        if loss == "dlr":
            return robust.dlr(y, logits)
        return robust.targeted_dlr(y, targets, logits)

    _, gradient = value_and_gradient(values_of, ops.convert_to_tensor(logits))
    numeric, h = np.zeros_like(logits), 1e-2
    for column in range(CLASSES):
        shift = np.zeros_like(logits)
        shift[:, column] = h
        ends = (np.asarray(values_of(ops.convert_to_tensor(logits + s))) for s in (shift, -shift))
        numeric[:, column] = np.subtract(*ends) / (2 * h)
    np.testing.assert_allclose(gradient, numeric, rtol=2e-3, atol=2e-4)


def test_the_dlr_does_not_change_with_shift_and_scale_of_logits():
    logits = np.array([[3.0, 1.0, -1.0, 0.5], [0.0, 2.0, 1.0, 4.0]], "float32")
    y, targets = np.array([0, 1]), np.array([1, 3])
    np.testing.assert_allclose(robust.dlr(y, logits), [-2 / 2.5, 2 / 3], rtol=1e-6)
    np.testing.assert_allclose(
        robust.targeted_dlr(y, targets, logits), [-2 / 3.25, 2 / 3.5], rtol=1e-6
    )
    for loss in (robust.dlr, lambda y, z: robust.targeted_dlr(y, targets, z)):
        np.testing.assert_allclose(loss(y, 100 * logits + 7), loss(y, logits), rtol=1e-4)


def test_too_few_classes_for_the_dlr_are_refused():
    logits, y = np.zeros((1, 2), "float32"), np.array([0])
    with pytest.raises(ValueError, match="at least 3 classes. Received the logits of 2 classes"):
        robust.dlr(y, logits)
    with pytest.raises(ValueError, match="at least 4 classes"):
        robust.targeted_dlr(y, y, logits)


def test_targets_are_the_nearest_other_classes_and_broken_images_are_left_out(
    network, given, rng, monkeypatch
):
    x, y = given["x"], given["y"]
    asked = []

    def apgd(objective, x, start, epsilon, steps):
        asked.append((objective.y, objective.targets))
        return x, np.arange(len(x)) % 2 == 0

    monkeypatch.setattr(attacks, "_apgd", apgd)
    attacks.TargetedAPGD(0.06, targets=2).perturb(network, x, y, rng)
    (first_y, first), (_, second) = asked
    logits = network.logits(x)
    order = np.argsort(-logits, axis=1)
    np.testing.assert_array_equal(first_y, order[:, 0])
    np.testing.assert_array_equal(first, order[:, 1])
    np.testing.assert_array_equal(second, order[1::2, 2])
    with pytest.raises(ValueError, match="`targets` must be at most 5"):
        attacks.TargetedAPGD(0.06, targets=6).perturb(network, x, y, rng)


def test_few_shapes_are_compiled():
    shapes = {len(Network._padded(SIZED, np.zeros(rows))) for rows in range(1, 257)}
    assert shapes == {32, 64, 128, 256}
    assert len(Network._padded(SIZED, np.zeros(300))) == 300


class SIZED:
    batch_size = 256
