"""Tests that windows of a recording in chunks have the embeddings of the windows, with files of
whole recordings and with files of streams."""

import copy
import pathlib

import numpy as np
import pytest

import keras_dml
from keras_dml import edge, export, layers, quality
from keras_dml._backend import keras
from keras_dml.export import streaming

CHANNELS, WINDOW, BLOCK = ("x", "y", "z"), 32, 8


def walk(steps, seed):
    """Returns a smooth recording of three channels."""
    white = np.random.default_rng(seed).normal(size=(steps + 6, 3))
    return np.apply_along_axis(np.convolve, 0, white, np.hanning(7), "valid").astype(np.float32)


WALK = walk(150, 1)


def model_of(*parts):
    keras.utils.set_random_seed(5)
    contract = layers.InputContract(CHANNELS, "g", 50, min_steps=16, max_steps=200)
    contract.adapt([walk(WINDOW, seed) for seed in range(9)])
    return keras.Sequential([keras.Input((None, 3)), contract, *parts])


@pytest.fixture(scope="module")
def quantiles():
    convolution = layers.MaskedConv1D(4, 3)
    halving = layers.MaskedAveragePooling1D(2)
    return model_of(convolution, halving, layers.QuantileLayer(knots=3))


@pytest.fixture(scope="module")
def files(quantiles, tmp_path_factory):
    """Exports a model twice: as a file for whole recordings, and as a file for streams."""
    folder = tmp_path_factory.mktemp("stream")
    usual = quality.Usual(CHANNELS, units=("g",) * 3).measured([walk(WINDOW, 2)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quality, "gate_of", lambda _: quality.Gate(usual))
        export.tflite(quantiles, folder / "model.tflite", None)
        export.stream(quantiles, folder / "stream.tflite", window=WINDOW, block=BLOCK)
    return edge.load(folder), edge.load_stream(folder / "stream.tflite")


@pytest.fixture(scope="module")
def model(files):
    return files[0]


@pytest.fixture(scope="module")
def stream_model(files):
    return files[1]


def streamed(stream, recording, sizes=(7,)):
    """Returns the windows of a recording in chunks. The list `sizes` starts again after its end."""
    windows, start, i = [], 0, 0
    while start < len(recording):
        size = sizes[i % len(sizes)]
        windows += stream.add(recording[start : start + size])
        start, i = start + size, i + 1
    return windows


@pytest.mark.parametrize("hop", [None, 8, 13, 50])
def test_windows_have_the_embeddings_of_cut_windows(model, hop):
    """Tests windows side by side, overlapping windows, and windows with gaps."""
    starts = range(0, len(WALK) - WINDOW + 1, hop or WINDOW)
    cut = [WALK[start : start + WINDOW] for start in starts]
    expected = model.embed(cut)
    for sizes in ((1,), (7, 0, 40), (WINDOW,), (len(WALK),)):
        windows = streamed(edge.Stream(model, WINDOW, hop), WALK, sizes)
        assert [window.start for window in windows] == list(starts)
        for window, signal, embedding in zip(windows, cut, expected, strict=True):
            assert window.stop == window.start + WINDOW and window.reason is None
            np.testing.assert_array_equal(window.signal, signal)
            np.testing.assert_array_equal(window.embedding, embedding)


def test_a_poor_window_is_rejected_and_the_stream_continues(model):
    recording = WALK.copy()
    recording[40:60, 1] = recording[40, 1]  # stuck
    recording[70:73] = np.nan
    recording[96:128] = 0
    windows = edge.Stream(model, WINDOW).add(recording)
    assert [window.embedding is None for window in windows] == [False, True, True, True]
    reasons = [window.reason for window in windows]
    assert reasons[0] is None and "channel y is stuck" in reasons[1]
    assert reasons[2].startswith("it holds NaN") and "step 6" in reasons[2]
    assert "zero" in reasons[3]
    assert model.unfit([recording[32:64]]) == {0: reasons[1]}


def test_the_memory_does_not_grow(model):
    stream = edge.Stream(model, WINDOW, 7)
    before = {name: np.size(value) for name, value in vars(stream).items()}
    streamed(stream, np.tile(WALK, (4, 1)))
    assert {name: np.size(value) for name, value in vars(stream).items()} == before
    assert stream.steps == 4 * len(WALK)


def test_invalid_chunks_are_refused(model):
    stream = edge.Stream(model, WINDOW)
    for chunk, error in ((WALK[:, :2], ValueError), (WALK[0], ValueError), (["a"], TypeError)):
        with pytest.raises(error):
            stream.add(chunk)
    assert stream.steps == 0 and stream.add(WALK[:0]) == []


def test_invalid_windows_are_refused(model, stream_model):
    for sizes in ((None,), (15,), (201,), (WINDOW, 0)):
        with pytest.raises(ValueError):
            edge.Stream(model, *sizes)
    with pytest.raises(TypeError):
        edge.Stream(model, 32.0)
    for sizes in ((WINDOW + BLOCK,), (WINDOW, 12), (None, 0)):
        with pytest.raises(ValueError):
            edge.Stream(stream_model, *sizes)


# ---- files of streams ----------------------------------------------------------------------------


def test_a_file_embeds_recordings_from_their_start(stream_model, quantiles, model):
    recordings = [WALK[: 8 * blocks] for blocks in (2, 3, 4, 18)]
    expected = keras_dml.embed(quantiles, recordings[:3])
    np.testing.assert_allclose(stream_model.embed(recordings[:3]), expected, rtol=0, atol=1e-5)
    long = streaming.by_keras(quantiles, recordings[3][None], WINDOW)
    z = stream_model.embed(recordings)
    np.testing.assert_allclose(z[3:], long, rtol=0, atol=1e-5)
    np.testing.assert_allclose(stream_model.distance(z, z), model.distance(z, z), rtol=0, atol=1e-5)
    assert stream_model.fingerprint == model.fingerprint and not stream_model.restarts
    for wrong in (WALK[:8], WALK[:20], WALK[:16, :2]):
        with pytest.raises(ValueError, match="Recording 0"):
            stream_model.embed([wrong])


@pytest.mark.parametrize("hop", [None, 16])
def test_windows_of_a_file_see_the_steps_before_them(stream_model, quantiles, hop):
    windows = streamed(edge.Stream(stream_model, hop=hop), WALK, (5, 19))
    assert len(windows) == (4 if hop is None else 8)
    for window in windows:
        expected = streaming.by_keras(quantiles, WALK[None, : window.stop], WINDOW)[0]
        np.testing.assert_allclose(window.embedding, expected, rtol=0, atol=1e-5)
        np.testing.assert_array_equal(window.signal, WALK[window.start : window.stop])


def test_lost_steps_reject_each_window_that_sees_them(stream_model):
    recording = WALK.copy()
    recording[62] = np.nan
    windows = edge.Stream(stream_model).add(recording)
    assert [window.reason is None for window in windows] == [True, False, False, True]
    assert windows[1].reason.startswith("it holds NaN") and "before the window" in windows[2].reason


def test_states_are_checked_and_do_not_change(stream_model):
    state = bad = stream_model.new_state()
    for value in (0.5, np.nan):  # all elements are NaN, also the knots of the quantile functions
        for block in np.split(WALK[:WINDOW], WINDOW // BLOCK):
            bad = stream_model.step(block * value, bad)
        embedding = stream_model.read(bad)
        assert (np.isnan if np.isnan(value) else np.isfinite)(embedding).all()
    stream_model.step(WALK[:BLOCK], state)
    assert not state.any() and np.isnan(stream_model.read(state)).all()
    for block, wrong in ((WALK[:7], state), (WALK[:8, :2], state), (WALK[:8], state[1:])):
        with pytest.raises(ValueError, match="shape"):
            stream_model.step(block, wrong)
    with pytest.raises(ValueError, match="shape"):
        stream_model.read(state[None])
    with pytest.raises(TypeError):
        stream_model.step("walk", state)


def test_each_file_has_its_function(files, tmp_path):
    model, stream_model = files
    with pytest.raises(ValueError, match="load_stream"):
        edge.load(stream_model.name)
    with pytest.raises(ValueError, match=r"edge\.load`"):
        edge.load_stream(pathlib.Path(model.name, "model.tflite"))
    with pytest.raises(FileNotFoundError, match=r"none\.tflite"):
        edge.load_stream(tmp_path / "none.tflite")


@pytest.mark.slow
def test_sums_begin_again_at_each_window(tmp_path):
    """Tests overlapping windows, whose sums run at the same time."""
    keras_model = model_of(layers.LaggedCorrelation((0, 2, 5)), layers.LinearDiscriminants(4))
    weights = keras_model.layers[-1].get_weights()
    rng = np.random.default_rng(0)
    keras_model.layers[-1].set_weights([rng.normal(size=w.shape) for w in weights])
    export.stream(keras_model, tmp_path / "stream.tflite", window=WINDOW, block=BLOCK)
    loaded = edge.load_stream(tmp_path / "stream.tflite")
    assert loaded.restarts and loaded.window == WINDOW
    for window, hop in ((None, None), (WINDOW, BLOCK), (24, 16), (16, 40)):
        windows = streamed(edge.Stream(loaded, window, hop), WALK, (5, 19))
        assert len(windows) > 2
        expected = keras_dml.embed(keras_model, [window.signal for window in windows])
        actual = np.stack([window.embedding for window in windows])
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5)


def test_a_model_that_streams_is_copied(stream_model):
    other, recording = copy.deepcopy(stream_model), WALK[:WINDOW]
    assert (other.block, other.window) == (stream_model.block, stream_model.window)
    np.testing.assert_array_equal(other.embed([recording]), stream_model.embed([recording]))
