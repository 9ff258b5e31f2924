"""Tests that the losses of adversarial training agree with worked examples and with loops, also at
extreme logits.
"""

import numpy as np
import pytest

from keras_dml._backend import ops
from keras_dml.losses import robust
from tests.goldens import golden
from tests.gradients import finite_differences, gradients

CLOSE = {"rtol": 1e-5, "atol": 1e-6}
CLOSE_GRADIENT = {"rtol": 1e-4, "atol": 1e-6}


def example(name):
    """Returns the inputs of a worked example as arrays, and the whole worked example."""
    result = golden(name, "seeds_p2")
    inputs = {
        key: np.array(value, "int32" if key == "y" else "float32")
        for key, value in result["inputs"].items()
        if isinstance(value, list)
    }
    return inputs, result


def mean(values):
    return ops.sum(values) / values.shape[0]


def assert_gradients(function, inputs, expected):
    """Checks the gradients of a scalar function with respect to the arrays that `expected`
    names."""
    result = gradients(function, *(inputs[name] for name in expected))
    for gradient, (name, value) in zip(result, expected.items(), strict=True):
        np.testing.assert_allclose(gradient, value, err_msg=name, **CLOSE_GRADIENT)


def test_at_is_cross_entropy_of_the_adversarial_logits():
    inputs, result = example("at-loss")

    def loss(logits):
        return mean(robust.cross_entropy(inputs["y"], logits))

    np.testing.assert_allclose(
        loss(inputs["logits_adversarial"]), result["expected"]["value"], **CLOSE
    )
    assert_gradients(loss, inputs, result["gradient"])


@pytest.mark.slow_on_jax
def test_alp_is_half_of_each_cross_entropy_and_the_pairing():
    inputs, result = example("alp-loss")
    weight, expected = result["inputs"]["weight"], result["expected"]

    def loss(clean, adversarial, weight=weight):
        return mean(robust.alp(inputs["y"], clean, adversarial, weight))

    logits = inputs["logits_clean"], inputs["logits_adversarial"]
    np.testing.assert_allclose(loss(*logits), expected["value"], **CLOSE)
    np.testing.assert_allclose(loss(*logits, weight=0.0), expected["cross_entropy"], **CLOSE)
    pairing = loss(*logits, weight=1.0) - loss(*logits, weight=0.0)
    np.testing.assert_allclose(pairing, expected["pairing"], **CLOSE)
    assert_gradients(loss, inputs, result["gradient"])


def test_trades_is_clean_cross_entropy_and_the_divergence_from_clean_to_adversarial():
    inputs, result = example("trades-loss")
    beta, expected = result["inputs"]["beta"], result["expected"]

    def loss(clean, adversarial):
        return mean(robust.trades(inputs["y"], clean, adversarial, beta))

    clean, adversarial = inputs["logits_clean"], inputs["logits_adversarial"]
    np.testing.assert_allclose(loss(clean, adversarial), expected["value"], **CLOSE)
    np.testing.assert_allclose(
        mean(robust.cross_entropy(inputs["y"], clean)), expected["natural"], **CLOSE
    )
    for name, pair in {
        "kl": (clean, adversarial),
        "kl_other_way_round": (adversarial, clean),
        "kl_of_equal_logits": (clean, clean),
    }.items():
        np.testing.assert_allclose(mean(robust.kl_divergence(*pair)), expected[name], **CLOSE)
    assert_gradients(loss, inputs, result["gradient"])


def test_the_divergence_is_flat_where_the_logits_are_equal():
    logits = example("trades-loss")[0]["logits_clean"]
    (gradient,) = gradients(lambda x: mean(robust.kl_divergence(logits, x)), logits)
    np.testing.assert_allclose(gradient, 0, rtol=0, atol=1e-7)


def test_tla_is_cross_entropy_hinges_and_squares():
    inputs, result = example("tla-loss")
    constants, expected = result["inputs"], result["expected"]
    names = ("anchor_adversarial", "positive_clean", "negative_clean")

    def loss(*triplets):
        hinge, norm = robust.tla_terms(*triplets, constants["margin"])
        entropy = robust.cross_entropy(inputs["y"], inputs["logits_adversarial"])
        return mean(entropy + constants["weight"] * hinge + constants["norm_weight"] * norm)

    triplets = [inputs[name] for name in names]
    hinge, norm = robust.tla_terms(*triplets, constants["margin"])
    np.testing.assert_allclose(hinge, np.maximum(expected["hinges"], 0), **CLOSE)
    np.testing.assert_allclose(mean(hinge), expected["triplet"], **CLOSE)
    np.testing.assert_allclose(mean(norm), expected["norm"], **CLOSE)
    np.testing.assert_allclose(loss(*triplets), expected["value"], **CLOSE)
    assert_gradients(loss, inputs, {name: result["gradient"][name] for name in names})


@pytest.mark.slow_on_jax
def test_tla_mines_the_nearest_of_another_class_and_another_of_its_own():
    inputs, result = example("tla-mining")
    positive, negative = robust.tla_pairs(inputs["y"], inputs["clean"])
    np.testing.assert_array_equal(positive, result["expected"]["positive"])
    np.testing.assert_array_equal(negative, result["expected"]["negative"])


@pytest.mark.slow_on_jax
def test_tla_of_a_batch_is_its_terms_on_what_it_mines(rng):
    labels = np.array([0, 1, 0, 2, 0, 1], "int32")
    clean, adversarial = rng.normal(size=(2, 6, 4)).astype("float32")
    logits = rng.normal(size=(6, 3)).astype("float32")
    cosines = np.abs(clean @ clean.T) / np.outer(*2 * [np.linalg.norm(clean, axis=1)])
    positive = [2, 5, 4, 3, 0, 1]  # the next row of the class; the fourth row has no other
    negative = [
        max((j for j in range(6) if labels[j] != labels[i]), key=lambda j: cosines[i, j])
        for i in range(6)
    ]
    hinge, norm = robust.tla_terms(adversarial, clean[positive], clean[negative], 0.1)
    expected = robust.cross_entropy(labels, logits) + 2.0 * hinge + 0.5 * norm
    result = robust.tla(labels, clean, adversarial, logits, margin=0.1, weight=2.0, norm_weight=0.5)
    np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.slow_on_jax
def test_tla_of_one_class_has_no_hinge(rng):
    clean, adversarial = rng.normal(size=(2, 3, 4)).astype("float32")
    logits, labels = rng.normal(size=(3, 2)).astype("float32"), np.zeros(3, "int32")
    result = robust.tla(labels, clean, adversarial, logits, weight=10.0, norm_weight=0.0)
    np.testing.assert_allclose(result, robust.cross_entropy(labels, logits), rtol=1e-6)


@pytest.mark.slow_on_jax
def test_zero_embeddings_have_finite_values_and_gradients():
    zero, labels = np.zeros((2, 3), "float32"), np.array([0, 1], "int32")

    def loss(clean, adversarial):
        return mean(robust.tla(labels, clean, adversarial, zero[:, :2], margin=0.0))

    assert np.isfinite(loss(zero, zero))
    for gradient in gradients(loss, zero, zero):
        np.testing.assert_array_equal(gradient, 0)


@pytest.mark.slow_on_jax
def test_margin_is_above_zero_exactly_where_the_answer_is_wrong(rng):
    logits = rng.normal(size=(50, 4)).astype("float32")
    labels = rng.integers(4, size=50).astype("int32")
    result = np.asarray(robust.margin(labels, logits))
    np.testing.assert_array_equal(result > 0, logits.argmax(axis=1) != labels)
    expected = [
        np.delete(row, item).max() - row[item] for row, item in zip(logits, labels, strict=True)
    ]
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_the_gradient_of_a_sure_network_is_exact():
    """Tests the gradient for logits of a confident network, for which `softmax - onehot` loses all
    digits of the correct class."""
    logits = np.array([[30.0, 0.0, -1.0]], "float32")
    (result,) = gradients(lambda x: mean(robust.cross_entropy(np.array([0]), x)), logits)
    rest = np.exp(logits[0, 1:].astype(float) - 30)
    np.testing.assert_allclose(result[0], [-rest.sum(), *rest], rtol=1e-5)


def test_large_logits_keep_values_and_gradients_finite():
    logits = np.array([[1e4, -1e4], [-1e4, 1e4]], "float32")
    labels = np.array([0, 0], "int32")
    np.testing.assert_allclose(robust.cross_entropy(labels, logits), [0, 2e4])
    np.testing.assert_allclose(robust.kl_divergence(logits, logits[::-1].copy()), 2e4)
    (gradient,) = gradients(lambda x: mean(robust.trades(labels, x, -x)), logits)
    assert np.isfinite(gradient).all()


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("name", ["alp", "trades"])
def test_gradients_are_those_of_finite_differences(name, rng):
    clean, adversarial = rng.normal(size=(2, 3, 4))
    labels = np.array([0, 3, 1], "int32")
    loss = getattr(robust, name)
    result = gradients(lambda x: mean(loss(labels, x, adversarial)), clean)[0]
    expected = finite_differences(lambda x: mean(loss(labels, x, adversarial)), clean)
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.slow_on_jax
def test_the_difference_of_logits_ratio_is_that_of_croce():
    """Compares the difference of logits ratio with `(best other - own) / (largest - third largest)`
    (Croce2020)."""
    logits = np.array([[3.0, 1.0, 0.0, -5.0], [1.0, 4.0, 2.0, 0.0]], "float32")
    result = robust.dlr(np.array([0, 2]), logits)
    np.testing.assert_allclose(
        ops.convert_to_numpy(result), [(1 - 3) / (3 - 0), (4 - 2) / (4 - 1)], rtol=1e-6
    )
