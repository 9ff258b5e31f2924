import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keras_dml
from keras_dml import distances, inference, layers, models
from keras_dml._keras import keras, ops

CHANNELS = 2
LENGTHS = [9, 1, 30, 9, 17, 2, 16, 30]


def network(*stack, time=None):
    keras.utils.set_random_seed(3)
    return keras.Sequential([keras.Input((time, CHANNELS)), *stack])


def ours():
    return network(
        layers.ChannelNormalisation(),
        layers.MaskedConv1D(4, 3, bias_initializer="ones"),
        layers.MaskedAveragePooling1D(2),
        keras.layers.PReLU(shared_axes=[1]),
        layers.QuantileLayer(3),
    )


def stock():
    """The convolution drops the mask, so the head would take the padding for activations."""
    return network(
        keras.layers.Conv1D(4, 3, padding="same", bias_initializer="ones"), layers.QuantileLayer(3)
    )


def stock_pooling():
    return network(layers.MaskedConv1D(4, 3), keras.layers.GlobalMaxPooling1D())


def covariance():
    return network(layers.StepDifference(), layers.Covariance("oas"), layers.BiMap(1))


def bare_operation():
    signal = keras.Input((None, CHANNELS))
    return keras.Model(signal, layers.QuantileLayer(3)(ops.tanh(signal) + 1))


def nested():
    inner = network(layers.MaskedConv1D(4, 3, bias_initializer="ones"))
    return network(inner, layers.SequencePooling("mean"))


def nested_stock():
    inner = network(keras.layers.Conv1D(4, 3, padding="same", bias_initializer="ones"))
    return network(inner, layers.SequencePooling("mean"))


def recordings(rng, lengths=LENGTHS):
    return [rng.normal(size=(length, CHANNELS)).astype("float32") for length in lengths]


def embed(model, signals, **options):
    return keras_dml.embed(model, signals, progress=False, **options)


def one_by_one(model, signals):
    return np.concatenate(
        [np.asarray(ops.convert_to_numpy(model(signal[None]))) for signal in signals]
    )


# ---- embed ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [ours, stock, stock_pooling, covariance, bare_operation, nested, nested_stock]
)
@pytest.mark.parametrize("batch_size", [1, 3, 32])
@pytest.mark.filterwarnings("error")
def test_a_batch_of_any_lengths_gives_what_recordings_give_alone_and_in_their_order(
    rng, make, batch_size
):
    """Also in models of stock layers that drop masks without an error."""
    model, signals = make(), recordings(rng)
    found = embed(model, signals, batch_size=batch_size)
    assert isinstance(found, np.ndarray) and len(found) == len(signals)
    np.testing.assert_allclose(found, one_by_one(model, signals), rtol=1e-5, atol=1e-5)


def test_recordings_share_batches_where_masks_are_kept_and_only_then(rng):
    shapes = []

    class Spy(layers.MaskedConv1D):
        def call(self, inputs, mask=None):
            shapes.append(tuple(inputs.shape))
            return super().call(inputs, mask=mask)

    kept = network(Spy(4, 3), layers.SequencePooling())
    shapes.clear()
    embed(kept, recordings(rng))
    assert len(shapes) == 1
    dropped = network(
        Spy(4, 3), keras.layers.Conv1D(4, 3, padding="same"), layers.SequencePooling()
    )
    shapes.clear()
    embed(dropped, recordings(rng))
    assert sorted(time for _, time, _ in shapes) == sorted(set(LENGTHS))


@given(st.integers(1, 10**6))
def test_padded_lengths_are_few_and_close(length):
    padded = inference._padded(length)
    assert length <= padded < 1.13 * length + 1
    assert inference._padded(padded) == padded


def test_there_are_at_most_eight_padded_lengths_an_octave():
    assert len({inference._padded(length) for length in range(512, 1024)}) <= 9


def test_anything_like_arrays_will_do(rng):
    model, signals = ours(), recordings(rng, [9, 9])
    expected = embed(model, signals)
    for same in (
        np.stack(signals),
        (s for s in signals),
        [s.astype("float64") for s in signals],
        [s.tolist() for s in signals],
        tuple(signals),
    ):
        np.testing.assert_allclose(embed(model, same), expected, rtol=1e-5, atol=1e-6)


def test_given_recordings_are_left_as_they_are(rng):
    signals = recordings(rng)
    before = [signal.copy() for signal in signals]
    embed(ours(), signals)
    for signal, copy in zip(signals, before, strict=True):
        np.testing.assert_array_equal(signal, copy)


def test_embedding_is_inference_not_training(rng):
    model = network(
        layers.MaskedConv1D(4, 3),
        keras.layers.BatchNormalization(),
        keras.layers.Dropout(0.5),
        layers.SequencePooling(),
    )
    before, signals = model.get_weights(), recordings(rng, [9, 9])
    np.testing.assert_array_equal(embed(model, signals), embed(model, signals))
    for one, other in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_list_must_hold_a_recording():
    for nothing in ([], (), np.zeros((0, 5, CHANNELS)), iter([])):
        with pytest.raises(ValueError, match="`recordings` is empty"):
            embed(ours(), nothing)


@pytest.mark.parametrize(
    "bad, message",
    [
        (np.zeros((0, CHANNELS)), "Recording 1 has no steps; leave it out"),
        (np.zeros((9, CHANNELS + 1)), "Recording 1 has 3 channels, the model takes 2"),
        (np.zeros(9), r"Recording 1 must have shape \(time, channels\). Received shape \(9,\)"),
        (np.zeros((1, 9, CHANNELS)), r"Recording 1 must have shape[^$]*\(1, 9, 2\)"),
        (np.float32(3), r"Recording 1 must have shape[^$]*\(\)"),
    ],
)
def test_a_recording_of_another_shape_is_named(rng, bad, message):
    with pytest.raises(ValueError, match=message):
        embed(ours(), [np.zeros((9, CHANNELS)), bad])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_a_number_that_is_none_is_named_by_recording_step_and_channel(rng, value):
    """1e300 is infinite in float32."""
    signals = [signal.astype("float64") for signal in recordings(rng)]
    signals[4][11, 1] = value
    signals[4][15, 0] = value
    with pytest.raises(
        ValueError, match="Recording 4 holds NaN or infinity, first at step 11, channel 1"
    ):
        embed(ours(), signals)


def test_a_single_recording_that_is_not_in_a_list_is_answered_with_what_to_do(rng):
    with pytest.raises(ValueError, match="A single recording goes in as a list of one"):
        embed(ours(), recordings(rng)[0])


def test_a_model_of_fixed_length_takes_that_length_only(rng):
    model = network(layers.MaskedConv1D(4, 3), layers.QuantileLayer(3), time=9)
    assert embed(model, recordings(rng, [9, 9, 9]), batch_size=2).shape == (3, 5, 5)
    with pytest.raises(
        ValueError, match=r"Recording 1 has 10 steps, the model takes 9.*start : start \+ 9"
    ):
        embed(model, recordings(rng, [9, 10]))


@pytest.mark.parametrize("batch_size", [0, -1])
def test_a_batch_of_no_recordings_is_refused(rng, batch_size):
    with pytest.raises(ValueError, match="`batch_size` must be at least 1"):
        embed(ours(), recordings(rng), batch_size=batch_size)


# ---- matrices ---------------------------------------------------------------------------------


def of_matrices():
    keras.utils.set_random_seed(3)
    return keras.Sequential([keras.Input((3, 3)), layers.BiMap(2), layers.ReEig()])


def matrices(rng, count=4):
    return [np.cov(signal, rowvar=False) for signal in rng.normal(size=(count, 9, 3))]


def test_a_model_that_begins_with_a_layer_on_matrices_takes_matrices(rng):
    model, given = of_matrices(), matrices(rng)
    found = embed(model, given, batch_size=3)
    np.testing.assert_allclose(found, one_by_one(model, np.float32(given)), rtol=1e-5, atol=1e-5)
    inner = keras.Input((3, 3))
    np.testing.assert_array_equal(
        embed(keras.Model(inner, model(inner)), given), embed(model, given)
    )


@pytest.mark.parametrize(
    "bad, message",
    [
        (np.eye(4), r"Matrix 1 must have shape \(3, 3\). Received shape \(4, 4\)"),
        (np.ones((5, 3)), r"Matrix 1 must have shape[^$]*\(5, 3\)"),
        (np.arange(9.0).reshape(3, 3), "Matrix 1 is not symmetric[^$]*numpy.cov"),
        (np.diag([1, np.nan, 1]), "Matrix 1 holds NaN or infinity, first at row 1, column 1"),
    ],
)
def test_a_matrix_that_is_no_covariance_is_named(bad, message):
    with pytest.raises(ValueError, match=message):
        embed(of_matrices(), [np.eye(3), bad])


def test_rounding_is_no_asymmetry(rng):
    given = [matrix + 1e-7 * rng.normal(size=(3, 3)) for matrix in matrices(rng)]
    assert np.isfinite(embed(of_matrices(), given)).all()


# ---- images -----------------------------------------------------------------------------------


def of_images():
    keras.utils.set_random_seed(3)
    encoder = [keras.Input((4, 5, 3)), keras.layers.Flatten(), keras.layers.Dense(3)]
    return keras.Sequential(encoder)


def images(rng, count=5):
    return rng.random((count, 4, 5, 3)).astype("float32")


def test_images_are_embedded_in_batches_whatever_holds_them(rng):
    model, given = of_images(), images(rng)
    expected = one_by_one(model, given)
    for same in (given, list(given), (one for one in given), given.astype("float64")):
        np.testing.assert_allclose(embed(model, same, batch_size=2), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "bad, message",
    [
        (
            np.zeros((5, 4, 3)),
            r"Image 1 must have shape \(4, 5, 3\). Received shape \(5, 4, 3\).*ize",
        ),
        (np.zeros((4, 5)), r"Image 1 must have shape[^$]*\(4, 5\)"),
        (
            np.zeros((4, 5, 3), "uint8"),
            "Image 1 must hold floats in .0, 1.*dtype uint8.*image / 255",
        ),
        (
            np.full((4, 5, 3), 255.0),
            "Image 1 must hold floats.*from 255 to 255. Divide bytes by 255",
        ),
        (np.full((4, 5, 3), -0.1), "Image 1 must hold floats in .0, 1.*from -0.1"),
        (np.full((4, 5, 3), np.nan), "Image 1 must hold floats in .0, 1.*nan"),
    ],
)
def test_an_image_of_another_size_dtype_or_range_is_named(bad, message):
    with pytest.raises(ValueError, match=message):
        embed(of_images(), [np.zeros((4, 5, 3), "float32"), bad])


def test_an_image_alone_is_answered_with_what_to_do(rng):
    with pytest.raises(ValueError, match="Image 0 must have shape.*a list of one"):
        embed(of_images(), images(rng)[0])


def test_a_model_of_images_of_any_size_takes_them():
    model = keras.Sequential([keras.Input((None, None, 1)), keras.layers.GlobalAveragePooling2D()])
    assert embed(model, np.full((2, 3, 6, 1), 0.5)).shape == (2, 1)


# ---- sound ------------------------------------------------------------------------------------


def test_sound_of_another_rate_is_refused(rng):
    sound = [keras.Input((None, 1)), layers.LogMel(2, rate=200, low=0, high=100)]
    model = keras.Sequential([*sound, layers.StatisticsPooling()])
    recordings = [rng.normal(size=(60, 1))]
    expected = embed(model, recordings)
    np.testing.assert_array_equal(embed(model, recordings, rate_hz=200), expected)
    with pytest.raises(ValueError, match="hears sound of 200 Hz. Received rate_hz=8000.*resample"):
        embed(model, recordings, rate_hz=8000)
    heard = keras.Input((None, 1))
    both = [layers.LogMel(2, rate=rate, low=0, high=100)(heard) for rate in (200, 400)]
    pooled = [layers.StatisticsPooling()(bands) for bands in both]
    of_two = keras.Model(heard, keras.layers.Concatenate()(pooled))
    with pytest.raises(ValueError, match="hears sound of 200 and 400 Hz. Received rate_hz=200"):
        embed(of_two, recordings, rate_hz=200)
    with pytest.raises(ValueError, match="this model has none; its card says"):
        embed(of_images(), images(rng), rate_hz=100)


# ---- classifiers ------------------------------------------------------------------------------


def test_of_a_classifier_the_encoder_embeds_and_the_similarity_tells_distances(rng):
    model, given = of_images(), images(rng)
    classifier = models.PrototypicalClassifier(model, 2, hidden=4)
    found = embed(classifier, given)
    np.testing.assert_array_equal(found, embed(model, given))
    table = keras_dml.distance(classifier, found, found[:2])
    expected = ops.convert_to_numpy(classifier.similarity(found, found[:2]))
    np.testing.assert_allclose(table, -expected, rtol=1e-5, atol=1e-6)
    cut = keras_dml.distance(classifier, found, found[:2], max_bytes=1)
    np.testing.assert_allclose(cut, table, rtol=1e-5, atol=1e-6)
    assert distances.name_of(classifier.distance) == "learned_similarity"


# ---- distance ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [ours, nested])
def test_distances_are_those_of_the_models_head_however_they_are_cut(rng, make):
    model, signals = make(), recordings(rng)
    gallery = embed(model, signals)
    probes = gallery[:3]
    whole = keras_dml.distance(model, probes, gallery)
    expected = model.layers[-1].distance(probes, gallery)
    assert isinstance(whole, np.ndarray) and whole.shape == (3, len(signals))
    np.testing.assert_allclose(whole, ops.convert_to_numpy(expected), rtol=1e-6)
    for max_bytes in (1, 2 * len(gallery) * gallery[0].nbytes):
        cut = keras_dml.distance(model, probes, gallery, max_bytes=max_bytes)
        np.testing.assert_allclose(cut, whole, rtol=1e-5, atol=1e-6)


def test_a_distance_may_stand_for_the_model(rng):
    x, y = rng.normal(size=(3, 4)).astype("float32"), rng.normal(size=(2, 4)).astype("float32")
    found = keras_dml.distance(distances.Cosine(), x, y)
    assert found.shape == (3, 2) and (np.abs(found) <= 1 + 1e-6).all()


def test_no_probes_or_no_gallery_give_an_empty_table(rng):
    model = ours()
    gallery = embed(model, recordings(rng, [9, 9]))
    assert keras_dml.distance(model, gallery[:0], gallery).shape == (0, 2)
    assert keras_dml.distance(model, gallery, gallery[:0]).shape == (2, 0)


def test_a_model_that_names_no_distance_is_told_what_to_do():
    with pytest.raises(
        ValueError, match="GlobalMaxPooling1D[^$]*names no distance[^$]*distances.Cosine"
    ):
        keras_dml.distance(stock_pooling(), np.zeros((1, 4)), np.zeros((1, 4)))


def test_embeddings_of_two_models_are_refused(rng):
    model, other = ours(), ours()
    other.layers[-1].set_weights([np.array([-2.0, 0.1, 3.0])])
    signals = recordings(rng, [9, 9])
    with pytest.raises(ValueError, match="different knots"):
        keras_dml.distance(model, embed(model, signals), embed(other, signals))
