import numpy as np
import pytest

from keras_dml._backend import keras, ops
from keras_dml.layers import ChannelNormalization, FirstDifference, InstanceStandardization
from tests import contracts

HALF = ["mixed_float16", "mixed_bfloat16"]


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(ops.cast(tensor, "float32")))


def recordings(rng, lengths=(5, 9, 700), scale=(2.0, 30.0, 0.01), offset=(9.81, -4.0, 1e3)):
    return [rng.normal(size=(steps, 3)) * scale + offset for steps in lengths]


# ---- ChannelNormalization ---------------------------------------------------------------------


def test_training_steps_end_with_mean_zero_and_deviation_one(rng):
    signals, layer = recordings(rng), ChannelNormalization()
    layer.adapt(signals)
    steps = np.concatenate(signals)
    actual = numpy(layer(steps[None].astype("float32")))[0]
    np.testing.assert_allclose(actual.mean(axis=0), 0, rtol=0, atol=1e-2)  # 1e3 +- 0.01 in float32
    np.testing.assert_allclose(actual.std(axis=0), 1, rtol=1e-2)
    np.testing.assert_allclose(numpy(layer.mean), steps.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(numpy(layer.stddev), steps.std(axis=0), rtol=1e-6)


def test_all_steps_have_equal_weight(rng):
    layer = ChannelNormalization()
    layer.adapt([np.zeros((3, 1)), np.full((9, 1), 4.0)])
    np.testing.assert_allclose(numpy(layer.mean), [3.0])
    np.testing.assert_allclose(numpy(layer.stddev), [np.sqrt(3)], rtol=1e-6)


def test_adapt_accepts_an_array_or_a_generator(rng):
    signals, layers = rng.normal(size=(4, 6, 3)), [ChannelNormalization() for _ in range(2)]
    layers[0].adapt(signals)
    layers[1].adapt(signal for signal in signals)
    for first, second in zip(layers[0].get_weights(), layers[1].get_weights(), strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("level", [0.0, 0.1, 9.81, -1e5])
def test_constant_channel_is_only_shifted(rng, level):
    """Tests a constant channel, for which NumPy may return a standard deviation of 1e-17 instead of
    0."""
    signal = rng.normal(size=(1000, 2))
    signal[:, 1] = level
    layer = ChannelNormalization()
    layer.adapt([signal])
    assert numpy(layer.stddev)[1] == 1
    actual = numpy(layer(np.array([[[0.0, level + 0.5]]], "float32")))
    np.testing.assert_allclose(actual[0, 0, 1], 0.5, rtol=0, atol=1e-2)


def test_adapt_replaces_earlier_statistics(rng):
    layer = ChannelNormalization()
    layer.adapt(recordings(rng))
    layer.adapt([np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])])
    np.testing.assert_allclose(numpy(layer.mean), [2, 2, 2])
    np.testing.assert_allclose(numpy(layer.stddev), [1, 1, 1])


def test_a_compiled_model_sees_what_adapt_measured(rng):
    layer = ChannelNormalization()
    net = keras.Sequential([keras.Input((None, 3)), layer])
    x = np.stack([signal[:5] for signal in recordings(rng)]).astype("float32")
    np.testing.assert_array_equal(net.predict(x, verbose=0), x)
    layer.adapt(x)
    assert not net.trainable_weights
    np.testing.assert_allclose(contracts.compiled(net)(x), numpy(net(x)), rtol=0, atol=1e-6)
    assert abs(numpy(net(x)).mean()) < 1e-4


@pytest.mark.parametrize("policy", HALF)
def test_large_offset_is_exact_under_half_precision(rng, policy):
    """Tests recordings with an offset of 1e5. In float16, this offset is infinite. In bfloat16,
    numbers near 1e5 are multiples of 512.
    """
    x = (1e5 + rng.normal(size=(2, 50, 3))).astype("float32")
    with contracts.dtype_policy(policy):
        layer = ChannelNormalization()
        layer.adapt(x)
        actual = layer(x)
    expected = (x - x.mean(axis=(0, 1), dtype="float64")) / x.std(axis=(0, 1), dtype="float64")
    assert keras.backend.standardize_dtype(actual.dtype) == policy.removeprefix("mixed_")
    np.testing.assert_allclose(numpy(actual), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    "signals, message",
    [
        ([], "no steps"),
        ([np.zeros((0, 3))], "no steps"),
        (np.zeros((7, 3)), r"Recording 0 must have shape[^$]*Received shape \(3,\)"),
        ([np.zeros((7, 3)), np.zeros((7, 2))], r"Recording 1 must have shape[^$]*\(7, 2\)"),
        ([np.zeros((7, 3)), np.full((7, 3), np.nan)], "Recording 1 holds NaN or infinity"),
    ],
)
def test_adapt_refuses_invalid_recordings(signals, message):
    with pytest.raises(ValueError, match=message):
        ChannelNormalization().adapt(signals)


def test_adapting_a_built_layer_to_other_channels_is_refused(rng):
    layer = ChannelNormalization()
    layer.adapt(recordings(rng))
    with pytest.raises(ValueError, match=r"Recording 0 must have shape \(time, 3\)"):
        layer.adapt([np.zeros((7, 2))])


# ---- InstanceStandardization -----------------------------------------------------------------


@pytest.mark.slow_on_jax
def test_each_recording_ends_with_mean_zero_and_deviation_one_over_its_valid_steps(rng):
    x = np.stack([signal[:5] for signal in recordings(rng)]).astype("float32")
    mask = np.array([[1, 1, 1, 1, 1], [1, 0, 1, 1, 0], [0, 1, 1, 1, 1]], bool)
    x[~mask] = np.nan
    actual = numpy(InstanceStandardization(epsilon=1e-9)(x, mask=mask))
    for row, valid in zip(actual, mask, strict=True):
        np.testing.assert_allclose(row[valid].mean(axis=0), 0, rtol=0, atol=1e-2)
        np.testing.assert_allclose(row[valid].std(axis=0), 1, rtol=1e-2)
        assert (row[~valid] == 0).all()


@pytest.mark.slow_on_jax
def test_a_full_mask_changes_nothing(rng):
    x, layer = rng.normal(size=(2, 9, 3)).astype("float32"), InstanceStandardization()
    actual = numpy(layer(x, mask=np.ones((2, 9), bool)))
    np.testing.assert_allclose(actual, numpy(layer(x)), rtol=0, atol=1e-6)


@pytest.mark.slow_on_jax
def test_constant_channels_single_steps_and_empty_recordings_become_zero():
    layer = InstanceStandardization()
    assert (numpy(layer(np.full((2, 9, 1), 9.81, "float32"))).round(2) == 0).all()
    assert (numpy(layer(np.full((2, 1, 1), 5.0, "float32"))) == 0).all()
    empty = layer(np.full((1, 4, 1), 5.0, "float32"), mask=np.zeros((1, 4), bool))
    assert (numpy(empty) == 0).all()


@pytest.mark.parametrize("policy", HALF)
@pytest.mark.parametrize("with_mask", [False, True])
def test_many_steps_with_an_offset_survive_half_precision(rng, policy, with_mask):
    """Tests recordings with 6000 steps. In float16, the number of steps would be wrong by 8 %."""
    x = (1e5 + rng.normal(size=(1, 6000, 2))).astype("float32")
    mask = np.ones((1, 6000), bool) if with_mask else None
    with contracts.dtype_policy(policy):
        actual = InstanceStandardization()(x, mask=mask)
    assert keras.backend.standardize_dtype(actual.dtype) == policy.removeprefix("mixed_")
    np.testing.assert_allclose(numpy(actual).std(axis=(0, 1)), 1, rtol=1e-2)


# ---- FirstDifference ---------------------------------------------------------------------------


@pytest.mark.slow_on_jax
def test_a_step_without_a_valid_predecessor_has_no_change(rng):
    x = rng.normal(size=(1, 6, 2)).astype("float32")
    mask = np.array([[1, 1, 0, 1, 1, 1]], bool)
    actual = numpy(FirstDifference()(x, mask=mask))[0]
    change = np.diff(x[0], axis=0)
    np.testing.assert_allclose(actual[[1, 4, 5]], change[[0, 3, 4]], rtol=0, atol=1e-6)
    assert (actual[[0, 2, 3]] == 0).all()


@pytest.mark.slow_on_jax
def test_padding_does_not_move_the_changes(rng):
    x = rng.normal(size=(1, 5, 2)).astype("float32")
    padded = np.concatenate([x, np.full((1, 3, 2), 1e6, "float32")], axis=1)
    actual = numpy(FirstDifference()(padded, mask=np.arange(8)[None] < 5))
    np.testing.assert_array_equal(actual[:, :5], numpy(FirstDifference()(x)))
    assert (actual[:, 5:] == 0).all()


@pytest.mark.parametrize("policy", HALF)
def test_changes_on_a_great_offset_survive_half_precision(rng, policy):
    x = (1e5 + rng.normal(size=(1, 50, 2))).astype("float32")
    with contracts.dtype_policy(policy):
        actual = FirstDifference()(x)
    assert keras.backend.standardize_dtype(actual.dtype) == policy.removeprefix("mixed_")
    np.testing.assert_allclose(numpy(actual)[:, 1:], np.diff(x, axis=1), rtol=1e-2, atol=1e-2)
