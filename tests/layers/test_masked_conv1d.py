import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.layers import MaskedConv1D
from tests.goldens import golden
from tests.gradients import gradients


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def layer_with_bias(**options):
    return MaskedConv1D(4, 3, bias_initializer="ones", activation="relu", **options)


def test_without_a_mask_it_is_the_stock_convolution(rng):
    x = rng.normal(size=(2, 9, 3)).astype("float32")
    ours, stock = layer_with_bias(), keras.layers.Conv1D(4, 3, padding="same", activation="relu")
    ours.build(x.shape), stock.build(x.shape)
    stock.set_weights(ours.get_weights())
    np.testing.assert_array_equal(numpy(ours(x)), numpy(stock(x)))


def test_masked_steps_count_as_zero(rng):
    x, layer = rng.normal(size=(2, 9, 3)).astype("float32"), layer_with_bias()
    mask = np.array([[1, 1, 0, 1, 1, 1, 0, 0, 0], [0, 0, 1, 0, 1, 1, 1, 1, 1]], bool)
    expected = numpy(layer(np.where(mask[..., None], x, 0)))
    x[~mask] = np.nan
    np.testing.assert_array_equal(numpy(layer(x, mask=mask)), expected)


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("options", [{}, {"dilation_rate": 3}, {"kernel_size": 4}])
def test_padding_does_not_change_stacked_layers(rng, options):
    """Tests two stacked layers with a bias. The bias makes the padding non-zero before the second
    layer.
    """
    sizes = {"kernel_size": 3, **options}
    stack = [MaskedConv1D(4, **sizes, bias_initializer="ones") for _ in range(3)]
    x = rng.normal(size=(1, 9, 3)).astype("float32")
    padded = np.concatenate([x, np.full((1, 6, 3), 1e6, "float32")], axis=1)
    mask = np.arange(15)[None] < 9
    bare = x
    for layer in stack:
        bare, padded = layer(bare), layer(padded, mask=mask)
    np.testing.assert_allclose(numpy(padded)[:, :9], numpy(bare), rtol=1e-5, atol=1e-5)


def test_no_gradient_reaches_masked_steps(rng):
    x, layer = rng.normal(size=(1, 6, 3)).astype("float32"), MaskedConv1D(2, 3)
    mask = np.array([[1, 1, 0, 1, 0, 0]], bool)
    layer(x)
    (slopes,) = gradients(lambda x: ops.sum(layer(x, mask=mask) ** 2), x)
    assert (slopes[~mask] == 0).all() and (slopes[mask] != 0).all()


@pytest.mark.slow_on_jax
def test_the_mask_is_handed_on_through_a_model(rng):
    x, mask = rng.normal(size=(2, 9, 3)).astype("float32"), np.ones((2, 9), bool)
    mask[0, 4:] = False
    pool = keras.layers.GlobalAveragePooling1D()
    net = keras.Sequential([keras.Input((None, 3)), layer_with_bias(), pool])
    expected = numpy(net.layers[0](x[:1, :4])).mean(axis=1)
    np.testing.assert_allclose(numpy(net(x, mask=mask))[:1], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.slow_on_jax
def test_a_tdnn_context_is_a_dilated_valid_convolution():
    example = golden("tdnn-context", "seeds_p2")
    kernel, bias = (np.array(example["inputs"][name], "float32") for name in ("kernel", "bias"))
    layer = MaskedConv1D(2, 3, dilation_rate=2, padding="valid")
    layer.build((None, None, 2))
    layer.set_weights([kernel, bias])
    actual = numpy(layer(np.array([example["inputs"]["x"]], "float32")))[0]
    np.testing.assert_allclose(actual, example["expected"]["affine"], rtol=1e-5, atol=1e-6)


@pytest.mark.slow_on_jax
def test_valid_padding_marks_steps_with_a_valid_window(rng):
    layer = MaskedConv1D(2, 3, dilation_rate=2, padding="valid")
    x, mask = rng.normal(size=(1, 10, 3)).astype("float32"), np.ones((1, 10), bool)
    mask[0, [3, 8, 9]] = False
    actual = numpy(layer.compute_mask(x, mask))
    expected = [[mask[0, t] and mask[0, t + 2] and mask[0, t + 4] for t in range(6)]]
    np.testing.assert_array_equal(actual, expected)
    x[~mask] = np.nan
    assert np.isfinite(numpy(layer(x, mask=mask))).all()


@pytest.mark.slow_on_jax
def test_valid_padding_refuses_sequences_shorter_than_the_kernel(rng):
    layer = MaskedConv1D(2, 3, dilation_rate=2, padding="valid", name="frames")
    assert numpy(layer(rng.normal(size=(1, 5, 3)))).shape == (1, 1, 2)
    with pytest.raises(ValueError, match='4 steps.*frames needs at least 5.*padding="same"'):
        layer(rng.normal(size=(1, 4, 3)))


@pytest.mark.parametrize("options", [{"strides": 2}, {"strides": (2,)}, {"padding": "causal"}])
def test_strides_and_causal_padding_are_refused(options):
    with pytest.raises(ValueError, match="`strides`.*`padding`.*MaskedAveragePooling1D"):
        MaskedConv1D(4, 3, **options)


@pytest.mark.parametrize(
    "options", [{"strides": 1}, {"strides": (1,)}, {"padding": "same"}, {"padding": "valid"}]
)
def test_default_options_may_be_explicit(options):
    assert MaskedConv1D(4, 3, **options).strides == (1,)
