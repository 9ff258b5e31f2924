"""Tests explanations of distances that are sums of parts. The explanations show the parts of
moments and channels.
"""

import numpy as np
import pytest

import keras_dml
from keras_dml import distances, layers, models
from keras_dml._backend import keras
from keras_dml.explanations import explain, explain_nearest
from keras_dml.explanations._graph import receptive_field

CHANNELS = 3
NAMES = ("x", "y", "z")
CONTRACT = {"channels": list(NAMES), "units": "g", "rate_hz": 50.0}


def recordings(seed=0, steps=(60, 45)):
    """Draws two recordings whose channels have different levels and are mixed differently."""
    rng = np.random.default_rng(seed)
    mixed = [rng.normal(i, 1 + i, (count, CHANNELS)) for i, count in enumerate(steps)]
    return [item @ rng.normal(size=(CHANNELS, CHANNELS)) for item in mixed]


def quantiles(p=1, **options):
    """Returns a model that computes quantile functions of the channels at 50 Hz."""
    signal = keras.Input((None, CHANNELS))
    x = layers.InputContract(**CONTRACT)(signal)
    return keras.Model(signal, layers.QuantileLayer(8, p=p, **options)(x))


def covariances(*after):
    """Returns a model with the given layers after the covariances of standardized channels."""
    before = [
        layers.InputContract(**CONTRACT),
        layers.InstanceStandardization(),
        layers.Covariance("oas"),
    ]
    return keras.Sequential([keras.Input((None, CHANNELS)), *before, *after])


def log_euclidean():
    model = covariances()
    model.layers[-1].distance = distances.LogEuclidean()
    return model


KINDS = {
    "1-Wasserstein": quantiles,
    "2-Wasserstein": lambda: quantiles(2),
    "an encoder": lambda: models.sequence_encoder(CHANNELS, knots=5),
    "affine-invariant": lambda: covariances(layers.ReEig(1e-4), layers.BiMap(2)),
    "log-Euclidean": log_euclidean,
    "tangent vectors": lambda: covariances(layers.LogEig(), layers.TangentVector()),
    "a tangent map": lambda: covariances(layers.TangentMap(2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_parts_moments_and_channels_sum_to_the_distance(kind):
    model, (a, b) = KINDS[kind](), recordings()
    result = explain(model, a, b)
    assert not result.by_removal and (result.moments or result.channels)
    z = keras_dml.embed(model, [a, b])
    expected = keras_dml.distance(model, z[:1], z[1:])[0, 0]
    np.testing.assert_allclose(result.distance, expected, rtol=1e-5)
    np.testing.assert_allclose(result.parts.sum(), result.distance, rtol=1e-6)
    assert result.parts.shape == tuple(map(len, result.labels))
    for name, recording in zip("ab", (a, b), strict=True):
        if result.timelines:
            line = result.timelines[name]
            assert line.parts.shape == (len(recording),)
            np.testing.assert_allclose(line.parts.sum(), result.distance / 2, rtol=1e-6)
    if result.channels:
        np.testing.assert_allclose(sum(result.channels.values()), result.distance, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_explanation_is_the_same_from_either_side(kind):
    model, (a, b) = KINDS[kind](), recordings()
    result, swapped = explain(model, a, b), explain(model, b, a)
    np.testing.assert_allclose(swapped.parts, result.parts, rtol=1e-4, atol=1e-5)
    for name, second in ("ab", "ba"):
        if result.timelines:
            ours, reference = result.timelines[name].parts, swapped.timelines[second].parts
            np.testing.assert_allclose(ours, reference, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_recording_is_not_apart_from_itself(kind):
    a, _ = recordings()
    result = explain(KINDS[kind](), a, a)
    assert result.distance < 1e-6 and not result.parts.round(6).any()
    assert "distance" in str(result)


def test_the_moment_that_differs_is_named_in_seconds_and_by_its_recording():
    a, b = (np.random.default_rng(seed).normal(size=(100, CHANNELS)) for seed in (0, 1))
    b[40:50] += 8
    result = explain(quantiles(), a, b)
    first = result.moments[0]
    assert (first.recording, first.start, first.end) == ("b", 40, 50)
    assert first.part > 0.4 * result.distance
    assert str(result).splitlines()[1].startswith("moments: 0.80 to 1.00 s of b ")
    parts = [item.part for item in result.moments]
    assert parts == sorted(parts, reverse=True)


def test_a_moment_that_makes_recordings_alike_has_a_negative_part():
    """Uses two recordings that are loud for some time. The first recording is loud for longer."""
    a, b = (np.random.default_rng(seed).normal(size=(100, CHANNELS)) for seed in (0, 1))
    a[40:60], b[10:20] = a[40:60] + 8, b[10:20] + 8
    result = explain(quantiles(), a, b)
    assert result.moments[0].recording == "a" and result.moments[0].start >= 40
    assert result.alike[0].recording == "b"
    assert 10 <= result.alike[0].start < result.alike[0].end <= 20
    assert result.alike[0].part < 0 and "moments that are alike: " in str(result)


def test_a_recording_that_was_not_kept_carries_the_other_half():
    model, (a, b) = quantiles(), recordings()
    z = keras_dml.embed(model, [b, b + 3])
    pair, alone = explain(model, a, b), explain_nearest(model, a, z)
    np.testing.assert_allclose(alone.parts, pair.parts)
    np.testing.assert_allclose(alone.timelines["probe"].parts, pair.timelines["a"].parts)
    assert list(alone.timelines) == ["probe"]


@pytest.mark.parametrize("padding", ["same", "valid"])
def test_an_activation_stands_for_steps_and_saw_their_neighbors(padding):
    """Tests an explanation of an encoder with pooling. Each moment consists of the time steps that
    one activation covers.
    """
    model = keras.Sequential(
        [
            keras.Input((None, CHANNELS)),
            layers.FirstDifference(),
            layers.MaskedConv1D(4, 5, padding=padding),
            layers.MaskedAveragePooling1D(2),
            layers.MaskedConv1D(4, 3),
            layers.MaskedAveragePooling1D(2),
            layers.QuantileLayer(6),
        ]
    )
    a, b = recordings(steps=(61, 50))
    line = explain(model, a, b).timelines["a"]
    seen = keras.Model(model.inputs, model.layers[-2].output)
    before, stride = np.asarray(seen([a[None]]))[0], 4
    first = 2 if padding == "valid" else 0
    for step in (0, 17, 40, 60):
        moved = a.copy()
        moved[step] += 1
        changed = np.flatnonzero(np.abs(np.asarray(seen([moved[None]]))[0] - before).max(1) > 1e-6)
        starts = first + stride * changed
        assert (step >= starts - line.before).all()
        assert (step < starts + stride + line.after).all()
    assert len(np.unique(line.parts)) <= len(before) + 1
    runs = np.flatnonzero(np.diff(line.parts)) + 1
    assert not ((runs - first) % stride)[runs < first + stride * len(before)].any()


@pytest.mark.parametrize(("kernel", "sees_all"), [(3, False), (61, True)])
def test_a_network_that_sees_the_whole_recording_around_a_moment_is_told(kernel, sees_all):
    model = keras.Sequential(
        [keras.Input((None, CHANNELS)), layers.MaskedConv1D(4, kernel), layers.QuantileLayer(6)]
    )
    result = explain(model, *recordings())
    assert result.moments and ("uses the whole recording" in str(result)) == sees_all


def test_an_activation_of_a_causal_convolution_saw_no_later_step():
    field = receptive_field([keras.layers.Conv1D(1, 5, dilation_rate=2, padding="causal")])
    assert (field.before, field.after) == (8, 0)


def test_moments_are_found_by_removal_if_the_network_moves_time_in_an_unknown_way():
    model = keras.Sequential(
        [
            keras.Input((None, CHANNELS)),
            keras.layers.UpSampling1D(3),
            layers.QuantileLayer(6),
        ]
    )
    result = explain(model, *recordings())
    np.testing.assert_allclose(result.parts.sum(), result.distance, rtol=1e-6)
    assert result.by_removal and result.moments and len(result.channels) == CHANNELS


def test_channels_that_differ_are_found_through_the_maps_of_a_network():
    """Tests a square map, which rotates the channels and does not change their parts."""
    plain, turned = covariances(layers.BiMap(3)), covariances(layers.BiMap(3))
    plain.layers[-1].set_weights([np.eye(3)])
    a, b = (np.random.default_rng(seed).normal(size=(500, CHANNELS)) for seed in (0, 1))
    b[:, 1] = b[:, 0] + b[:, 1]
    result = explain(plain, a, b)
    assert tuple(result.channels) == NAMES
    assert result.largest(1).keys() == {"x, y"}
    np.testing.assert_allclose(explain(turned, a, b).parts, result.parts, rtol=0, atol=1e-3)


def test_units_that_cannot_be_traced_to_channels_are_not_named():
    model = covariances(layers.RiemannianBatchNormalization(), layers.ReEig(1e-4))
    result = explain(model, *recordings())
    assert result.by_removal and result.parts is None and result.moments
    assert tuple(result.channels) == NAMES and any(result.channels.values())


def test_matrices_as_inputs_have_channels_too():
    model = models.spdnet((4, 3))
    x = np.random.default_rng(0).normal(size=(2, 4, 9))
    result = explain(model, *(x @ x.swapaxes(1, 2)))
    assert tuple(result.channels) == ("channel 0", "channel 1", "channel 2", "channel 3")


def test_embeddings_of_another_model_and_bad_recordings_are_refused():
    a, b = recordings()
    with pytest.raises(ValueError, match="Recording 1 has 2 channels"):
        explain(quantiles(), a, b[:, :2])
    second = keras_dml.embed(
        keras.Sequential([keras.Input((None, 3)), layers.QuantileLayer(7)]), [b]
    )
    with pytest.raises(ValueError, match="must hold embeddings of"):
        explain_nearest(quantiles(), a, second)
    with pytest.raises(TypeError, match="keras.Model"):
        explain(np.zeros(3), a, b)
    nameless = keras.Sequential(
        [keras.Input((None, CHANNELS)), keras.layers.GlobalAveragePooling1D()]
    )
    with pytest.raises(ValueError, match="define a distance"):
        explain(nameless, a, b)
