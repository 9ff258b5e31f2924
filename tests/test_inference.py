import threading
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keras_dml
from keras_dml import distances, inputs, layers, models, zoo
from keras_dml._backend import keras, ops
from keras_dml.inference import _batches

CHANNELS = 2
LENGTHS = [9, 1, 30, 9, 17, 2, 16, 30]
SHORTEST_LAST = [9, 30, 9, 17, 16, 30, 4]  # the covariance of differences needs several steps


def network(*stack, time=None):
    keras.utils.set_random_seed(3)
    return keras.Sequential([keras.Input((time, CHANNELS)), *stack])


def ours():
    return network(
        layers.ChannelNormalization(),
        layers.MaskedConv1D(4, 3, bias_initializer="ones"),
        layers.MaskedAveragePooling1D(2),
        keras.layers.PReLU(shared_axes=[1]),
        layers.QuantileLayer(3),
    )


def stock():
    """Returns a model of Keras's own layers whose convolution drops the mask, so that the head
    would treat padding as activations."""
    return network(
        keras.layers.Conv1D(4, 3, padding="same", bias_initializer="ones"), layers.QuantileLayer(3)
    )


def stock_pooling():
    return network(layers.MaskedConv1D(4, 3), keras.layers.GlobalMaxPooling1D())


def covariance():
    return network(layers.FirstDifference(), layers.Covariance("oas"), layers.BiMap(1))


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [ours, stock, stock_pooling, covariance, bare_operation, nested, nested_stock]
)
@pytest.mark.parametrize("batch_size", [1, 3, 32])
@pytest.mark.filterwarnings("error")
def test_a_batch_of_any_lengths_gives_what_recordings_give_alone_and_in_their_order(
    rng, make, batch_size
):
    """Tests that a batch of recordings of different lengths gives the same embeddings as single
    recordings. Some of the tested models contain layers of Keras that drop masks without an
    error."""
    model, signals = make(), recordings(rng, SHORTEST_LAST if make is covariance else LENGTHS)
    result = embed(model, signals, batch_size=batch_size)
    assert isinstance(result, np.ndarray) and len(result) == len(signals)
    np.testing.assert_allclose(result, one_by_one(model, signals), rtol=1e-5, atol=1e-5)


@pytest.mark.slow_on_jax
def test_recordings_share_batches_where_masks_are_kept_and_only_then(rng):
    shapes = []

    class Spy(layers.MaskedConv1D):
        def call(self, inputs, mask=None):
            shapes.append(tuple(inputs.shape))
            return super().call(inputs, mask=mask)

    remaining = network(Spy(4, 3), layers.SequencePooling())
    shapes.clear()
    embed(remaining, recordings(rng))
    tried, batches = shapes[:2], shapes[2:]
    assert [rows for rows, _, _ in tried] == [1, 1]
    assert [rows for rows, _, _ in batches] == [2, 4, 2]  # (1, 2), (9, 9, 16, 17), (30, 30)
    dropped = network(
        Spy(4, 3), keras.layers.Conv1D(4, 3, padding="same"), layers.SequencePooling()
    )
    shapes.clear()
    embed(dropped, recordings(rng))
    assert sorted(time for _, time, _ in shapes) == sorted(set(LENGTHS))


def squeezed():
    """Returns a model that multiplies a sequence by an array of weights.

    The array has no time axis, so the product has no mask.
    """
    signal = keras.Input((None, CHANNELS))
    steps = layers.MaskedConv1D(4, 3, bias_initializer="ones")(signal)
    share = keras.layers.Dense(4, "sigmoid")(keras.layers.GlobalAveragePooling1D()(steps))
    steps = steps * keras.layers.Reshape((1, 4))(share)
    return keras.Model(signal, layers.QuantileLayer(3)(steps))


def normalized(layer):
    """Returns a model with a normalization over time that accepts the mask but counts padding."""
    convolution = layers.MaskedConv1D(4, 3, bias_initializer="ones")
    return network(convolution, layer, layers.SequencePooling("mean"))


def attended():
    """Returns a model with a softmax over time, whose sum changes if padding is added."""
    signal = keras.Input((None, CHANNELS))
    steps = layers.MaskedConv1D(4, 3)(signal)
    shares = keras.layers.Softmax(axis=1)(steps)
    return keras.Model(signal, layers.SequencePooling("mean")(steps * shares))


COUNTS_PADDING = {
    "squeeze and excitation": squeezed,
    "group normalization": lambda: normalized(keras.layers.GroupNormalization(2)),
    "layer normalization over time": lambda: normalized(
        keras.layers.LayerNormalization(axis=1, center=False, scale=False)
    ),
    "attention": attended,
}


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("make", COUNTS_PADDING.values(), ids=COUNTS_PADDING)
def test_where_padding_counts_only_equal_lengths_share_a_batch(rng, make):
    model, signals = make(), recordings(rng, [40, 25, 40, 33, 25])
    result = embed(model, signals)
    np.testing.assert_allclose(result, one_by_one(model, signals), rtol=1e-5, atol=1e-5)


@pytest.mark.slow_on_jax
def test_a_model_that_was_trained_is_tried_again(rng):
    """Tests that a model is checked again after training. A normalization over time has no effect
    while its scale is 0, so padding seems harmless before training."""
    model = normalized(keras.layers.GroupNormalization(2, gamma_initializer="zeros"))
    signals = recordings(rng, [40, 25, 40, 33, 25])
    embed(model, signals)
    for variable in model.layers[1].weights:
        variable.assign(np.ones(variable.shape))
    result = embed(model, signals)
    np.testing.assert_allclose(result, one_by_one(model, signals), rtol=1e-5, atol=1e-5)


@pytest.mark.slow_on_jax
def test_one_long_recording_does_not_stretch_the_others(rng):
    shapes = []

    class Spy(layers.MaskedConv1D):
        def call(self, inputs, mask=None):
            shapes.append(tuple(inputs.shape))
            return super().call(inputs, mask=mask)

    lengths = [*range(30, 61), 5000]
    model = network(Spy(4, 3), layers.SequencePooling())
    shapes.clear()
    embed(model, recordings(rng, lengths))
    assert max(rows * time for rows, time, _ in shapes) <= 5120
    assert len(shapes) <= 5


@pytest.mark.slow_on_jax
@pytest.mark.skipif(keras.backend.backend() != "jax", reason="TensorFlow compiles no eager call")
def test_recordings_one_by_one_are_filled_up_to_few_lengths(rng):
    times = set()

    class Spy(layers.MaskedConv1D):
        def call(self, inputs, mask=None):
            times.add(inputs.shape[1])
            return super().call(inputs, mask=mask)

    model = network(Spy(4, 3), layers.SequencePooling())
    signals = recordings(rng, range(64, 128))
    times.clear()
    result = np.concatenate([embed(model, [signal]) for signal in signals])
    assert len(times - {128, 256}) <= 8
    np.testing.assert_allclose(result, one_by_one(model, signals), rtol=1e-5, atol=1e-5)


@pytest.mark.slow_on_jax
def test_filters_of_warnings_stay_as_they_are(rng):
    before = list(warnings.filters)
    model, signals = ours(), recordings(rng)
    threads = [threading.Thread(target=embed, args=(model, signals)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert warnings.filters == before


@given(st.integers(1, 10**6))
def test_padded_lengths_are_few_and_close(length):
    padded = _batches.padded_length(length)
    assert length <= padded < 1.13 * length + 1
    assert _batches.padded_length(padded) == padded


def test_there_are_at_most_eight_padded_lengths_an_octave():
    assert len({_batches.padded_length(length) for length in range(512, 1024)}) <= 9


@pytest.mark.slow_on_jax
def test_anything_like_arrays_will_do(rng):
    model, signals = ours(), recordings(rng, [9, 9])
    expected = embed(model, signals)
    for equal in (
        np.stack(signals),
        (s for s in signals),
        [s.astype("float64") for s in signals],
        [s.tolist() for s in signals],
        tuple(signals),
    ):
        np.testing.assert_allclose(embed(model, equal), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.slow_on_jax
def test_given_recordings_are_left_as_they_are(rng):
    signals = recordings(rng)
    before = [signal.copy() for signal in signals]
    embed(ours(), signals)
    for signal, copy in zip(signals, before, strict=True):
        np.testing.assert_array_equal(signal, copy)


@pytest.mark.slow_on_jax
def test_embedding_is_inference_not_training(rng):
    model = network(
        layers.MaskedConv1D(4, 3),
        keras.layers.BatchNormalization(),
        keras.layers.Dropout(0.5),
        layers.SequencePooling(),
    )
    before, signals = model.get_weights(), recordings(rng, [9, 9])
    np.testing.assert_array_equal(embed(model, signals), embed(model, signals))
    for first, second in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(first, second)


def test_the_list_must_hold_a_recording():
    for nothing in ([], (), np.zeros((0, 5, CHANNELS)), iter([])):
        with pytest.raises(ValueError, match="`recordings` is empty"):
            embed(ours(), nothing)


@pytest.mark.parametrize(
    "bad, message",
    [
        (np.zeros((0, CHANNELS)), "Recording 1 has no time steps. Leave"),
        (np.zeros((9, CHANNELS + 1)), "Recording 1 has 3 channels, but the model takes 2"),
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
    """Tests that the error for NaN or infinity names the recording, the step and the channel. The
    number 1e300 is infinite in float32."""
    signals = [signal.astype("float64") for signal in recordings(rng)]
    signals[4][11, 1] = value
    signals[4][15, 0] = value
    with pytest.raises(
        ValueError, match="Recording 4 holds NaN or infinity, first at step 11, channel 1"
    ):
        embed(ours(), signals)


@pytest.mark.parametrize(
    "bad, message",
    [
        (np.ma.masked_greater(np.ones((9, CHANNELS)), 0.5), "Recording 1 .*18 of 18 masked"),
        (np.ones((9, CHANNELS), complex), "Recording 1 must hold real numbers.*complex128"),
        (np.full((9, CHANNELS), "1.5"), "Recording 1 must hold real numbers.*<U3"),
        (np.zeros((9, CHANNELS), "datetime64[s]"), "Recording 1 must hold real numbers"),
        (np.zeros(9, [("x", "f4"), ("y", "f4")]), "Recording 1 must hold real numbers"),
    ],
)
def test_what_is_no_real_number_is_refused_with_its_place(bad, message):
    with pytest.raises(TypeError, match=message):
        embed(ours(), [np.zeros((9, CHANNELS)), bad])


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("bad", [1e38, -1e38])
def test_an_embedding_that_is_not_finite_is_refused_with_its_place(rng, bad):
    signals = recordings(rng, [9, 9, 9])
    signals[1][:] = bad * np.arange(9)[:, None] / 9
    with pytest.raises(ValueError, match="embedding of recording 1 is not finite"):
        embed(covariance(), signals)


@pytest.mark.slow_on_jax
def test_one_step_has_no_covariance(rng):
    with pytest.raises(ValueError, match=r"embedding of recording 2 is not finite.*\(1, 2\)"):
        embed(covariance(), recordings(rng, [9, 20, 1]))


@pytest.mark.slow_on_jax
def test_recordings_shorter_than_the_card_allows_are_refused(rng):
    model = zoo.load("gait_qp_wl")
    least, _ = zoo.card("gait_qp_wl")["input"]["length"]
    stddev = np.mean(inputs.from_model(model).contract.stddev_range, axis=1)
    signals = [stddev * rng.normal(size=(steps, len(stddev))) for steps in (least, least - 1)]
    for named in (model, "gait_qp_wl"):
        assert embed(named, signals[:1]).shape[0] == 1
        with pytest.raises(ValueError, match=f"Recording 1 has {least - 1} steps.*card allows"):
            embed(named, signals)


@pytest.mark.parametrize("nothing", [None, 3, len])
def test_what_is_no_model_or_no_list_is_refused(rng, nothing):
    with pytest.raises(TypeError, match="`model` must be a keras.Model"):
        embed(nothing, recordings(rng))
    with pytest.raises(TypeError, match="`recordings` must be a list of arrays"):
        embed(ours(), nothing)
    with pytest.raises(TypeError, match="`model` must be a keras.Model|must hold"):
        keras_dml.distance(None, np.zeros((1, 2)), np.zeros((1, 2)))


def test_a_model_that_is_not_built_is_told_how_to_be(rng):
    model = keras.Sequential([keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="is not built.*keras.Input"):
        embed(model, recordings(rng))


def test_a_model_of_two_inputs_is_refused(rng):
    inputs = [keras.Input((None, CHANNELS)) for _ in range(2)]
    model = keras.Model(inputs, keras.layers.Add()(inputs))
    with pytest.raises(ValueError, match="has 2 inputs"):
        embed(model, recordings(rng))


@pytest.mark.parametrize("batch_size", [2.0, "2", None, True])
def test_a_batch_size_that_is_no_whole_number_is_refused(rng, batch_size):
    with pytest.raises(TypeError, match="`batch_size` must be an integer"):
        embed(ours(), recordings(rng), batch_size=batch_size)


def test_a_single_recording_that_is_not_in_a_list_is_answered_with_what_to_do(rng):
    with pytest.raises(ValueError, match="single recording as a list with one element"):
        embed(ours(), recordings(rng)[0])


@pytest.mark.slow_on_jax
def test_a_model_of_fixed_length_takes_that_length_only(rng):
    model = network(layers.MaskedConv1D(4, 3), layers.QuantileLayer(3), time=9)
    assert embed(model, recordings(rng, [9, 9, 9]), batch_size=2).shape == (3, 5, 5)
    with pytest.raises(
        ValueError, match=r"Recording 1 has 10 steps, but the model takes 9.*start : start \+ 9"
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


@pytest.mark.slow_on_jax
def test_a_model_that_begins_with_a_layer_on_matrices_takes_matrices(rng):
    model, given = of_matrices(), matrices(rng)
    result = embed(model, given, batch_size=3)
    np.testing.assert_allclose(result, one_by_one(model, np.float32(given)), rtol=1e-5, atol=1e-5)
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


@pytest.mark.slow_on_jax
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


@pytest.mark.slow_on_jax
def test_images_are_embedded_in_batches_whatever_holds_them(rng):
    model, given = of_images(), images(rng)
    expected = one_by_one(model, given)
    for equal in (given, list(given), (item for item in given), given.astype("float64")):
        np.testing.assert_allclose(
            embed(model, equal, batch_size=2), expected, rtol=1e-5, atol=1e-6
        )


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
    with pytest.raises(ValueError, match="Image 0 must have shape.*a list with one element"):
        embed(of_images(), images(rng)[0])


def test_a_model_of_images_of_any_size_takes_them():
    model = keras.Sequential([keras.Input((None, None, 1)), keras.layers.GlobalAveragePooling2D()])
    assert embed(model, np.full((2, 3, 6, 1), 0.5)).shape == (2, 1)


# ---- sound ------------------------------------------------------------------------------------


@pytest.mark.slow_on_jax
def test_sound_of_another_rate_is_refused(rng):
    sound = [keras.Input((None, 1)), layers.LogMel(2, rate=200, low=0, high=100)]
    model = keras.Sequential([*sound, layers.StatisticsPooling()])
    recordings = [rng.normal(size=(60, 1))]
    expected = embed(model, recordings)
    np.testing.assert_array_equal(embed(model, recordings, rate_hz=200), expected)
    with pytest.raises(ValueError, match="200 Hz. Received rate_hz=8000.*resample"):
        embed(model, recordings, rate_hz=8000)
    heard = keras.Input((None, 1))
    pair = [layers.LogMel(2, rate=rate, low=0, high=100)(heard) for rate in (200, 400)]
    pooled = [layers.StatisticsPooling()(bands) for bands in pair]
    of_two = keras.Model(heard, keras.layers.Concatenate()(pooled))
    with pytest.raises(ValueError, match="200 and 400 Hz. Received rate_hz=200"):
        embed(of_two, recordings, rate_hz=200)
    with pytest.raises(ValueError, match="rate_hz=100, but this model has no"):
        embed(of_images(), images(rng), rate_hz=100)


# ---- classifiers ------------------------------------------------------------------------------


@pytest.mark.slow_on_jax
def test_of_a_classifier_the_encoder_embeds_and_the_similarity_tells_distances(rng):
    model, given = of_images(), images(rng)
    classifier = models.PrototypicalClassifier(model, 2, hidden=4)
    result = embed(classifier, given)
    np.testing.assert_array_equal(result, embed(model, given))
    table = keras_dml.distance(classifier, result, result[:2])
    expected = ops.convert_to_numpy(classifier.similarity(result, result[:2]))
    np.testing.assert_allclose(table, -expected, rtol=1e-5, atol=1e-6)
    cut = keras_dml.distance(classifier, result, result[:2], max_bytes=1)
    np.testing.assert_allclose(cut, table, rtol=1e-5, atol=1e-6)
    assert classifier.distance.name == "learned_similarity"


# ---- distance ---------------------------------------------------------------------------------


@pytest.mark.slow_on_jax
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


@pytest.mark.slow_on_jax
def test_rows_and_columns_are_cut_to_blocks(rng):
    seen = []

    def metric(x, y):
        seen.append((len(x), len(y)))
        return distances.Euclidean()(x, y)

    x, y = rng.normal(size=(5, 4)), rng.normal(size=(7, 4))
    result = keras_dml.distance(metric, x, y, max_bytes=2 * 3 * y[0].nbytes)
    assert max(rows * columns for rows, columns in seen) <= 6
    expected = np.linalg.norm(x[:, None] - y[None], axis=-1)
    np.testing.assert_allclose(result, expected, rtol=1e-5)


@pytest.mark.slow_on_jax
def test_embeddings_that_are_not_the_models_are_refused(rng):
    model = ours()
    own = embed(model, recordings(rng, [9, 9]))
    falling, moved = own.copy(), own.copy()
    falling[1, -1] = falling[1, -1, ::-1]
    moved[1, -1, 1:-1] += 0.02
    bad = {
        "embeddings of 'sequential[^$]*Received shape .2, 4, 5": own[:, 1:],
        "Received shape .2, 5, 4": own[..., 1:],
        "Received shape .5, 5": own[0],
        "no quantile embedding in row 1": falling,
        "another model in row 1": moved,
        r"NaN or infinity, first at \(1, 0, 0\)": np.where(
            np.arange(2)[:, None, None], np.nan, own
        ),
    }
    for message, second in bad.items():
        with pytest.raises(ValueError, match=f"`y`[^$]*{message}"):
            keras_dml.distance(model, own, second)
    for second in (own.astype(complex), own.astype(str), np.ma.masked_less(own, 10)):
        with pytest.raises(TypeError, match="`x`"):
            keras_dml.distance(model, second, own)


@pytest.mark.slow_on_jax
def test_a_distance_may_stand_for_the_model(rng):
    x, y = rng.normal(size=(3, 4)).astype("float32"), rng.normal(size=(2, 4)).astype("float32")
    result = keras_dml.distance(distances.Cosine(), x, y)
    assert result.shape == (3, 2) and (np.abs(result) <= 1 + 1e-6).all()


def test_no_probes_or_no_gallery_give_an_empty_table(rng):
    model = ours()
    gallery = embed(model, recordings(rng, [9, 9]))
    assert keras_dml.distance(model, gallery[:0], gallery).shape == (0, 2)
    assert keras_dml.distance(model, gallery, gallery[:0]).shape == (2, 0)


def test_a_model_that_names_no_distance_is_told_what_to_do():
    with pytest.raises(ValueError, match="GlobalMaxPooling1D[^$]*not define a distance.*Cosine"):
        keras_dml.distance(stock_pooling(), np.zeros((1, 4)), np.zeros((1, 4)))


def test_embeddings_of_two_models_are_refused(rng):
    model, second = ours(), ours()
    second.layers[-1].set_weights([np.array([-2.0, 0.1, 3.0])])
    signals = recordings(rng, [9, 9])
    with pytest.raises(ValueError, match="another model in row 0[^$]*one model"):
        keras_dml.distance(model, embed(model, signals), embed(second, signals))
