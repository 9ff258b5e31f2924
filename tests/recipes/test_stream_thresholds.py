"""Tests thresholds for files of streams, and decisions with these files on real recordings."""

import numpy as np
import pytest

from export import agreement
from keras_dml import edge, export, zoo
from keras_dml.export import litert, streaming
from keras_dml.models.copies import in_float64
from keras_dml.training import People, pooled
from keras_dml.zoo import schema
from zoo import gait, stream_thresholds

SIZES = {"gait_lda": (512, 64), "gait_qp_wl": (512, 64)}
# Number of steps of a block of each model that can be streamed.
BLOCKS = {
    "eye_lda": 50,
    "eye_qp_wl": 168,
    "gait_lda": 64,
    "gait_qp_wl": 64,
    "vowels_qp_wl": 1,
    "watch_lda": 50,
}


def test_contexts_end_with_the_windows(rng):
    signals = [rng.normal(size=(steps, 2)) for steps in (5, 12, 19)]
    people = People(signals, ["a", "b", "b"], [1, 1, 2])
    windows, contexts = people.windows(6), stream_thresholds.contexts(people, 6)
    assert len(windows.signals) == 5
    assert (windows.subjects, windows.sessions) == (contexts.subjects, contexts.sessions)
    for window, context in zip(windows.signals, contexts.signals, strict=True):
        np.testing.assert_array_equal(context[-6:], window)
    assert [len(context) for context in contexts.signals] == [6, 12, 6, 12, 18]


@pytest.mark.parametrize("name", stream_thresholds.MODELS)
def test_cards_have_thresholds_of_streams(name):
    card = zoo.card(name)
    rows = card["stream_thresholds"]
    assert [row["far"] for row in rows] == [row["far"] for row in card["thresholds"]]
    assert len({row["window"] for row in rows}) == 1
    values = [row["value"] for row in rows]
    assert values == sorted(values, reverse=True)
    for row in rows:
        assert not schema.problems(row, schema.STREAM_THRESHOLD)


@pytest.mark.slow
def test_thresholds_of_walks_are_those_of_the_card(data_dir):
    measured = stream_thresholds.of_published("gait_qp_wl")
    card = zoo.card("gait_qp_wl")
    pairs = (
        (measured.rows, card["stream_thresholds"]),
        (pooled.thresholds(measured.windows), card["thresholds"]),
    )
    for rows, expected in pairs:
        for row, of_card in zip(rows, expected, strict=True):
            assert row["value"] == pytest.approx(of_card["value"], rel=1e-4)
            assert row["tar"] == pytest.approx(of_card["tar"])
    lines = stream_thresholds.comparison(measured)
    assert len(lines) == 4 + 3 * len(measured.rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_streams_of_real_recordings_are_exact_in_float64(name, data_dir):
    model, block = in_float64(zoo.load(name)), BLOCKS[name]
    recordings = agreement.recordings_of(zoo.card(name))[::40]
    assert recordings
    for recording in recordings:
        signal = recording[: len(recording) // block * block].astype(np.float64)
        stream = streaming.Stream(model, len(signal), block)
        state = np.zeros(stream.size)
        for part in signal.reshape(-1, block, signal.shape[1]):
            state = np.asarray(stream.step(part[None], state))
        expected = np.asarray(model(signal[None], training=False))
        np.testing.assert_allclose(np.asarray(stream.read(state)), expected, rtol=0, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_files_decide_about_real_walks_as_keras_does(name, tmp_path, data_dir):
    """Compares the embeddings by a file with embeddings by Keras in float64."""
    window, block = SIZES[name]
    model = in_float64(zoo.load(name))
    path = export.stream(name, tmp_path / "stream.tflite", window=window, block=block).path
    loaded = edge.load_stream(path)
    walks = gait.walks("test").signals[:12]
    windows = [edge.Stream(loaded).add(walk) for walk in walks]
    assert sum(map(len, windows)) > 30
    expected = []
    for walk, cut in zip(walks, windows, strict=True):
        for each in cut:
            assert each.reason is None
            signal = each.signal if loaded.restarts else walk[: each.stop]
            z = streaming.by_keras(model, signal[None].astype(np.float64), window)
            expected.append(z[0].astype(np.float32))
    actual, expected = np.stack([x.embedding for cut in windows for x in cut]), np.stack(expected)
    assert np.abs(actual - expected).max() < 5e-5
    pairs = np.triu_indices(len(actual), 1)
    distances = [litert.distance(path, z, z)[pairs] for z in (actual, expected)]
    thresholds = export.contract(path)["thresholds"]
    assert thresholds
    for row in thresholds:
        actual_accepts, expected_accepts = (each <= row["value"] for each in distances)
        np.testing.assert_array_equal(actual_accepts, expected_accepts)
