"""Tests explanations by removal of moments, channels and regions.

Some tests remove the same moments and channels in another way and compare the results.
"""

import pathlib

import numpy as np
import pytest

import keras_dml
from keras_dml import distances, layers, zoo
from keras_dml._backend import keras, ops
from keras_dml.explanations import explain, explain_nearest
from keras_dml.training.golden import synthetic_recordings

ZOO = pathlib.Path(__file__).parents[2] / "zoo"
NAMES = sorted(path.parent.name for path in ZOO.glob("*/golden.npz"))
CHANNELS = ("x", "y", "z")
STEPS = 100
REMOVALS = 20  # number of random spans or channels that are removed


class Reads(keras.layers.Layer):
    """Layer that returns the values of one channel between two steps, and defines a distance."""

    def __init__(self, distance="euclidean", channel=1, start=0, end=None):
        super().__init__()
        self.distance = distances.get(distance)
        self.channel, self.start, self.end = channel, start, end

    def call(self, inputs):
        x = inputs[:, self.start : self.end, self.channel]
        return ops.stack([ops.mean(x, axis=1), ops.std(x, axis=1), ops.max(x, axis=1)], axis=-1)

    def compute_output_shape(self, input_shape):
        return (input_shape[0], 3)


class Matrix(keras.layers.Layer):
    """Layer that returns its input matrices, and defines a distance between them."""

    takes_matrices = True

    def __init__(self, distance):
        super().__init__()
        self.distance = distances.get(distance)

    def call(self, inputs):
        return inputs


def reader(**options):
    signal = keras.Input((None, len(CHANNELS)))
    x = layers.InputContract(channels=list(CHANNELS), units="g", rate_hz=50.0)(signal)
    return keras.Model(signal, Reads(**options)(x))


def recordings(seed=0, steps=STEPS):
    """Draws two recordings whose channels have different levels and spreads."""
    rng = np.random.default_rng(seed)
    return [rng.normal(i, 1 + i, (steps, len(CHANNELS))).astype(np.float32) for i in (1, 3)]


def first(explanation):
    """Returns the moment whose removal changes the distance most."""
    return max((*explanation.moments, *explanation.alike), key=lambda moment: abs(moment.part))


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_a_model_that_reads_one_channel_names_it(distance):
    model, (a, b) = reader(distance=distance), recordings()
    explanation = explain(model, a, b)
    assert explanation.by_removal and explanation.parts is None
    assert tuple(explanation.channels) == CHANNELS
    assert explanation.channels["x"] == explanation.channels["z"] == 0 != explanation.channels["y"]
    words = str(explanation)
    assert "channels: y by" in words and "dimension" not in words and "x by" not in words


def test_a_channel_of_which_the_model_reads_the_level_alone_is_named():
    model = keras.Sequential(
        [
            keras.Input((None, 3)),
            keras.layers.Dense(1, kernel_initializer=lambda *_, **__: ops.array([[0.0], [1], [0]])),
            layers.SequencePooling("mean"),
            Matrix("euclidean"),
        ]
    )
    a, b = recordings()
    explanation = explain_nearest(model, a, keras_dml.embed(model, [b]))
    assert explanation.channels["channel 0"] == explanation.channels["channel 2"] == 0
    level, distance = abs(a[:, 1].mean()), abs(a[:, 1].mean() - b[:, 1].mean())
    change = distance - (distance + abs(b[:, 1].mean())) / 2  # of its mean: 0; of zero: the rest
    np.testing.assert_allclose(explanation.channels["channel 1"], change, rtol=1e-3)
    assert level > 0


def test_a_model_that_reads_the_middle_alone_names_moments_of_the_middle():
    model, (a, b) = reader(start=40, end=60), recordings()
    explanation = explain(model, a, b)
    moments = (*explanation.moments, *explanation.alike)
    assert {moment.recording for moment in moments} == {"a", "b"}
    assert all(40 <= moment.start < moment.end <= 60 for moment in moments)
    assert "0.80 to" in str(explanation) or "0.90 to" in str(explanation)
    outside = np.r_[:40, 60:100]
    assert not any(line.parts[outside].any() for line in explanation.timelines.values())


def test_the_changes_are_those_of_removing_each_moment_by_itself():
    model, (a, b) = reader(), recordings()
    stored = keras_dml.embed(model, [b])
    explanation = explain_nearest(model, a, stored)
    line = explanation.timelines["probe"]
    assert len(line.spans) == 20 and line.spans[0][0] == 0 and line.spans[-1][1] == STEPS
    for start, end in line.spans:
        removed = a.copy()
        removed[start:end] = a.mean(axis=0)
        rest = keras_dml.distance(model, keras_dml.embed(model, [removed]), stored)[0, 0]
        change = line.parts[start:end].sum()
        np.testing.assert_allclose(change, explanation.distance - rest, rtol=1e-3, atol=1e-4)


def test_a_moment_that_differs_is_named_in_seconds():
    model, (a, _) = reader(), recordings()
    b = np.roll(a, 50, axis=0)
    b[20:25] += 9
    explanation = explain(model, a, b)
    moment = explanation.moments[0]
    assert (moment.recording, moment.start, moment.end) == ("b", 20, 25)
    assert str(explanation).splitlines()[1].startswith("closer without these moments: 0.40 to 0.50")


def test_a_negative_distance_is_told_as_a_similarity():
    explanation = explain(reader(distance="cosine"), *recordings())
    assert explanation.distance < 0 and str(explanation).startswith("similarity 0.")


@pytest.mark.parametrize("steps", [1, 2, 3, 19, 21])
def test_recordings_of_any_length_are_divided_without_gaps(steps):
    explanation = explain(reader(), *recordings(steps=steps))
    for line in explanation.timelines.values():
        ends = [0, *(end for _, end in line.spans)]
        assert ends == [*(start for start, _ in line.spans), steps]
        assert all(end > start for start, end in line.spans) and len(line.parts) == steps
    assert np.isfinite(list(explanation.channels.values())).all()


def test_a_recording_and_itself():
    a, _ = recordings()
    explanation = explain(reader(), a, a)
    assert explanation.distance == 0 and not explanation.moments and explanation.alike
    assert str(explain(reader(start=0, end=1, channel=2), a[:1], a[:1])).startswith("distance 0")


def test_zeros_that_a_contract_refuses_as_padding_are_no_obstacle():
    """Tests recordings in which only channel y is not zero. After removing channel y, the
    recordings are zero everywhere.
    """
    a, b = recordings()
    for recording in (a, b):
        recording[:, [0, 2]] = 0
    assert explain(reader(), a, b).channels["y"]


@pytest.mark.parametrize("distance", ["stein", "bures_wasserstein", "log_euclidean"])
def test_matrices_without_parts_have_channels_by_removal(distance):
    model = keras.Sequential(
        [
            keras.Input((3, 3)),
            Matrix("euclidean"),
            keras.layers.Activation("relu"),
            Matrix(distance),
        ]
    )
    a, b = (np.eye(3) + 0.2 for _ in range(2))
    b[0, 1] = b[1, 0] = 0.9
    explanation = explain(model, a, b)
    assert explanation.by_removal and not explanation.timelines
    values = explanation.channels
    assert len(values) == 3 and values["channel 2"] < min(values["channel 0"], values["channel 1"])


def test_a_covariance_that_is_singular_without_a_channel_has_no_change():
    signal = keras.Input((None, 3))
    model = keras.Model(signal, Matrix("stein")(layers.Covariance("sample")(signal)))
    explanation = explain(model, *recordings())
    assert explanation.moments or explanation.alike
    assert np.isfinite(list(explanation.channels.values())).all()


def test_memory_is_bounded_for_long_recordings():
    """Tests that batches of long recordings have few rows."""
    rows = []

    class Counts(Reads):
        def call(self, inputs):
            rows.append(inputs.shape[0])
            return super().call(inputs)

    signal = keras.Input((None, 1))
    model = keras.Model(signal, Counts(channel=0)(signal))
    a, b = (np.random.default_rng(i).normal(size=(2**20, 1)).astype(np.float32) for i in (0, 1))
    stored = keras_dml.embed(model, [b])
    rows.clear()
    assert explain_nearest(model, a, stored).timelines
    assert max(row for row in rows if row is not None) == 1 and len(rows) >= 21


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_model_of_the_zoo_is_explained_in_words_of_people(name):
    model, golden = zoo.load(name), np.load(ZOO / name / "golden.npz")
    a, b = golden["recording_0"], golden["recording_1"]
    z = keras_dml.embed(model, [a, b])
    explanation = explain_nearest(model, a, z[1:])
    expected = keras_dml.distance(model, z[:1], z[1:])[0, 0]
    np.testing.assert_allclose(explanation.distance, expected, rtol=1e-4)
    words = str(explanation)
    assert not any(word in words for word in ("dimension", "filter", "unit ", "quantiles"))
    assert explanation.ranked()
    if explanation.timelines:
        assert " s of probe" in words
    elif explanation.regions:
        assert "rows " in words
    names = zoo.card(name)["input"]["channels"]
    assert explanation.channels == {} or list(explanation.channels) == list(names)


def cut(recording, start, end):
    return np.concatenate([recording[:start], recording[end:]])


def scrambled(recording, channel, rng):
    """Returns a recording in which the steps of one channel are in random order."""
    result = recording.copy()
    result[:, channel] = rng.permutation(result[:, channel])
    return result


def ranks(model, pairs, rng):
    """Compares the first span and channel of each explanation with other spans and channels.

    Explanations replace spans and channels by constants. This function cuts spans out of the
    recording, and shuffles the steps of channels. For each pair of recordings, the function counts
    the other spans or channels that change the distance less than the first span or channel. The
    result is their fraction of all other spans or channels.
    """
    fractions = []
    for probe, enrolled in pairs:
        stored = keras_dml.embed(model, [enrolled], progress=False)
        explanation = explain_nearest(model, probe, stored)
        if explanation.timelines:
            moment = first(explanation)
            length = moment.end - moment.start
            starts = [moment.start, *rng.integers(0, len(probe) - length, REMOVALS)]
            variants = [cut(probe, start, start + length) for start in starts]
        else:
            shares = np.abs(list(explanation.channels.values()))
            channels = [shares.argmax(), *rng.integers(0, len(shares), REMOVALS)]
            variants = [scrambled(probe, channel, rng) for channel in channels]
        z = keras_dml.embed(model, [probe, *variants], progress=False)
        scores = keras_dml.distance(model, z, stored)[:, 0]
        changes = np.abs(scores[1:] - scores[0])
        fractions.append((changes[0] > changes[1:]).mean())
    return np.array(fractions)


def made_up(name, count):
    """Draws pairs of recordings in which some moments and channels are louder than the others.

    The recordings have the same magnitude as the golden recordings of the model.
    """
    golden = np.load(ZOO / name / "golden.npz")["recording_0"]
    steps, channels = golden.shape
    for seed in range(count):
        rng = np.random.default_rng(seed)
        scale = golden.std(axis=0) * rng.uniform(0.7, 1.3, channels)
        a, b = synthetic_recordings(channels, [steps, steps], scale, seed)
        start = rng.integers(0, steps - steps // 8)
        a[start : start + steps // 8] *= 2
        yield a + golden.mean(axis=0), b + golden.mean(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["gait_lda", "phone_gait_lda", "watch_lda", "eye_lda", "voice_xvector_sim", "eeg_spdnet_rpl"],
)
@pytest.mark.filterwarnings("ignore:In the channels .* have another magnitude:UserWarning")
def test_what_is_named_first_changes_the_distance_more_than_the_rest(name):
    fractions = ranks(
        zoo.load(name),
        made_up(name, 3 if name.startswith("voice") else 6),
        np.random.default_rng(0),
    )
    assert fractions.mean() > 0.7, fractions
