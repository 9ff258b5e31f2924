import functools

import numpy as np
import pytest

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml.layers import ChannelNormalization, InstanceStandardization
from keras_dml.models import sequence_encoder
from tests.gradients import gradients

CHANNELS, LONGEST = 3, 24
ENCODERS = [
    ("quantile", 0),
    ("quantile", 1),
    ("quantile", 2),
    ("quantile", 3),
    ("max", 3),
    ("mean", 3),
]


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


@functools.cache
def encoder(aggregation="quantile", halvings=3, **options):
    """Returns an encoder with random statistics and slopes.

    With random statistics, the activations of padding are never zero.
    """
    keras.utils.set_random_seed(5)
    model = sequence_encoder(
        CHANNELS, aggregation=aggregation, halvings=halvings, knots=4, **options
    )
    rng = np.random.default_rng(5)
    for layer in model.layers:
        if not isinstance(layer, keras.layers.Conv1D) and layer.name != "embedding":
            layer.set_weights([rng.uniform(0.5, 1.5, w.shape) for w in layer.get_weights()])
    return model


def assert_close(found, expected):
    """Compares embeddings with a tolerance relative to their size, because random statistics make
    embeddings large.
    """
    size = max(1, np.abs(expected).max())
    np.testing.assert_allclose(found / size, expected / size, rtol=1e-5, atol=1e-5)


def padded(signal, before, after, rng):
    """Adds arbitrary numbers before and after a recording, and returns the result and its mask."""
    garbage = rng.normal(scale=1e3, size=(1, before + signal.shape[1] + after, CHANNELS))
    garbage[:, before : before + signal.shape[1]] = signal
    mask = np.zeros(garbage.shape[:2], bool)
    mask[:, before : before + signal.shape[1]] = True
    return garbage.astype("float32"), mask


def recording(rng, length):
    return rng.normal(size=(1, length, CHANNELS)).astype("float32")


@pytest.mark.slow
@pytest.mark.parametrize("aggregation, halvings", ENCODERS)
@pytest.mark.parametrize("length", [1, 8, 13])
def test_padding_does_not_change_the_embedding(rng, aggregation, halvings, length):
    model, signal = encoder(aggregation, halvings), recording(rng, length)
    x, mask = padded(signal, 0, LONGEST - length, rng)
    assert_close(numpy(model(x, mask=mask)), numpy(model(signal)))


@pytest.mark.slow
@pytest.mark.slow_on_jax
@pytest.mark.parametrize("normalization", ["channel", "instance", "difference"])
def test_recordings_of_a_batch_are_independent(rng, normalization):
    model = encoder(normalization=normalization)
    lengths = [13, 8, 24, 1]
    signals = [recording(rng, length) for length in lengths]
    batch, masks = zip(*(padded(s, 0, LONGEST - s.shape[1], rng) for s in signals), strict=True)
    actual = numpy(model(np.concatenate(batch), mask=np.concatenate(masks)))
    for row, signal in zip(actual, signals, strict=True):
        assert_close(row, numpy(model(signal))[0])


@pytest.mark.slow
@pytest.mark.parametrize("aggregation, halvings", ENCODERS[3:])
def test_padding_in_front_by_whole_windows_changes_nothing_either(rng, aggregation, halvings):
    model, signal = encoder(aggregation, halvings), recording(rng, 13)
    x, mask = padded(signal, 8, 3, rng)
    assert_close(numpy(model(x, mask=mask)), numpy(model(signal)))


@pytest.mark.slow
@pytest.mark.parametrize("aggregation, halvings", ENCODERS[::3])
def test_masked_steps_in_the_middle_are_ignored(rng, aggregation, halvings):
    model, x = encoder(aggregation, halvings), recording(rng, LONGEST)
    mask = np.ones((1, LONGEST), bool)
    mask[:, [3, 9, 10, 11, 12, 13, 14, 15, 16, 21]] = False  # includes two whole windows of four
    actual = numpy(model(x, mask=mask))
    assert np.isfinite(actual).all()
    for garbage in (0, np.nan, 1e6):
        changed = np.where(mask[..., None], x, garbage).astype("float32")
        np.testing.assert_array_equal(numpy(model(changed, mask=mask)), actual)
    assert np.abs(numpy(model(x)) - actual).max() > 1e-3  # the mask has an effect


@pytest.mark.slow_on_jax
def test_no_gradient_reaches_masked_steps(rng):
    model, (x, mask) = encoder(halvings=1), padded(recording(rng, 8), 0, LONGEST - 8, rng)
    (slopes,) = gradients(lambda x: ops.sum(model(x, mask=mask) ** 2), x)
    assert np.isfinite(slopes).all()
    assert (slopes[~mask] == 0).all() and (slopes[mask] != 0).any()


@pytest.mark.slow_on_jax
def test_a_mask_of_ones_is_no_mask(rng):
    model, x = encoder(), recording(rng, LONGEST)
    assert_close(numpy(model(x, mask=np.ones((1, LONGEST), bool))), numpy(model(x)))


@pytest.mark.slow_on_jax
@pytest.mark.parametrize(
    "size, filters, halvings",
    [
        ("paper", [64] * 4 + [128] * 4 + [256] * 8, 0),
        ("edge", [32] * 4 + [48] * 4 + [64] * 8, 3),
    ],
)
def test_sizes_are_sixteen_convolutions_of_three_steps(size, filters, halvings):
    model = sequence_encoder(6, size=size)
    convolutions = [layer for layer in model.layers if isinstance(layer, keras.layers.Conv1D)]
    assert [layer.filters for layer in convolutions] == filters
    assert {layer.kernel_size for layer in convolutions} == {(3,)}
    assert sum(layer.name.startswith("halving") for layer in model.layers) == halvings
    assert model.output_shape == (None, filters[-1] + 1, 18)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options, expected",
    [({}, ["prelu_4", "prelu_8"]), ({"halve_every": 5}, ["prelu_5", "prelu_10"])],
)
def test_halvings_follow_every_halve_every_convolutions(options, expected):
    names = [layer.name for layer in encoder(halvings=2, **options).layers]
    after = [names[names.index(f"halving_{i}") - 1] for i in (1, 2)]
    assert after == expected and "halving_3" not in names


@pytest.mark.slow
def test_earlier_halving_extends_the_receptive_field(rng):
    """Tests the receptive field by counting the output steps that change if one step of the signal
    changes.
    """
    signal = recording(rng, 512)
    seen = {}
    for every in (2, 4):
        deep = encoder("max", halve_every=every)
        filters = keras.Model(deep.input, deep.layers[-2].output)
        changed = signal.copy()
        changed[0, 256] += 100.0
        moved = np.any(np.asarray(filters(signal)) != np.asarray(filters(changed)), -1)
        seen[every] = 8 * moved.sum()
    assert seen[4] <= 136 < 190 <= seen[2] <= 204


@pytest.mark.slow_on_jax
def test_edge_has_the_parameters_of_its_table():
    """Compares the number of weights for six channels with a count by hand.

    Each kernel has 3 * in * out weights, and each filter has five more weights.
    """
    model = sequence_encoder(6)
    kernels = 3 * (6 * 32 + 3 * 32 * 32 + 32 * 48 + 3 * 48 * 48 + 48 * 64 + 7 * 64 * 64)
    filters = 4 * 32 + 4 * 48 + 8 * 64
    assert kernels == 130_368 and filters == 832
    assert model.count_params() == kernels + 5 * filters + 2 * 6 + 16
    trainable = sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)
    assert trainable == kernels + 3 * filters + 16


@pytest.mark.slow
@pytest.mark.parametrize(
    "options, shape, kind",
    [
        ({"knots": 3}, (None, 65, 5), distances.Wasserstein),
        ({"knots": 3, "flatten": True}, (None, 192), distances.Cosine),
        ({"aggregation": "max"}, (None, 64), distances.Cosine),
        ({"aggregation": "mean"}, (None, 64), distances.Cosine),
    ],
)
def test_the_last_layer_gives_the_embedding_and_names_its_distance(options, shape, kind):
    model = sequence_encoder(CHANNELS, **options)
    assert model.output_shape == shape
    assert type(model.layers[-1].distance) is kind


@pytest.mark.slow
@pytest.mark.parametrize(
    "normalization, kind",
    [("channel", ChannelNormalization), ("instance", InstanceStandardization)],
)
def test_normalization_is_part_of_the_model(normalization, kind):
    model = sequence_encoder(CHANNELS, normalization=normalization)
    assert type(model.get_layer("normalization")) is kind


@pytest.mark.slow_on_jax
def test_standardized_recordings_may_have_any_offset_and_scale(rng):
    model, signal = encoder(normalization="instance"), recording(rng, LONGEST)
    np.testing.assert_allclose(
        numpy(model(signal * 7 + 30)), numpy(model(signal)), rtol=1e-2, atol=1e-2
    )


@pytest.mark.slow_on_jax
def test_the_penalty_falls_on_the_slopes_of_all_sixteen_prelus():
    model = sequence_encoder(CHANNELS, slope_l2=0.01)
    assert len(model.losses) == 16
    slopes = [layer for layer in model.layers if isinstance(layer, keras.layers.PReLU)]
    assert {tuple(layer.get_weights()[0].shape) for layer in slopes} == {(1, 32), (1, 48), (1, 64)}
    squares = sum((layer.get_weights()[0] ** 2).sum() for layer in slopes)
    np.testing.assert_allclose(sum(map(float, model.losses)), 0.01 * squares, rtol=1e-5)
    assert not sequence_encoder(CHANNELS).losses


@pytest.mark.parametrize(
    "options, message",
    [
        ({"size": "huge"}, r"`size` must be one of \('paper', 'edge'\)"),
        ({"aggregation": "median"}, r"`aggregation` must be one of \('quantile', 'max', 'mean'\)"),
        (
            {"normalization": None},
            r"`normalization` must be one of \('channel', 'instance', 'difference'\)",
        ),
        ({"halvings": 4}, r"`halvings` must be one of \(0, 1, 2, 3\). Received halvings=4"),
        ({"halvings": -1}, "`halvings` must be one of"),
        ({"halve_every": 0}, r"`halve_every` must be one of .* Received halve_every=0"),
        ({"knots": 0}, "`knots` must be a whole number of at least 1"),
    ],
)
def test_unknown_choices_are_refused_with_the_known_ones(options, message):
    with pytest.raises(ValueError, match=message):
        sequence_encoder(CHANNELS, **options)
