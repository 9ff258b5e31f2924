"""Tests of C libraries for microcontrollers. The compiled code is compared with Keras."""

import ctypes
import dataclasses
import importlib.util
import re
import shutil
import subprocess

import numpy as np
import pytest

import keras_dml
from export.runtimes import CLibrary
from keras_dml import export, layers, zoo
from keras_dml._backend import keras
from keras_dml.export import operators, parity
from keras_dml.export._microcontroller import compiler, quantization, trunk
from keras_dml.export._microcontroller.network import read
from tests.export.conftest import lived_in, sample
from zoo import microcontroller_agreement

pytestmark = pytest.mark.slow_on_jax
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
STRICT = (
    *("-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"),
    "-fsanitize=address,undefined,float-cast-overflow",
    "-fno-sanitize-recover=all",
)
OK, NULL, LENGTH, VALUE, FULL, EMPTY, DAMAGED = range(7)
ZOO = ("gait_qp_wl", "phone_gait_qp_wl", "gait_lda", "eye_lda")
OTHERS = ("vowels_qp_wl", "eye_qp_wl", "phone_gait_lda", "pocket_lda", "watch_lda")
KNOTS = 4
GRAVITY = np.float32([0, 7, -7])
# TensorFlow converts the convolutions for TensorFlow Lite Micro
HAS_TRUNK = keras.backend.backend() == "tensorflow" and bool(
    importlib.util.find_spec("ai_edge_litert")
)
needs_trunk = pytest.mark.skipif(not HAS_TRUNK, reason="needs TensorFlow and LiteRT")


def quantile_model(*, front=(), convolution=None, after=(), head=None):
    """Returns a small model with two convolutions and a quantile layer. The arguments replace or
    add layers."""
    keras.utils.set_random_seed(2)

    def block(filters):
        return [
            convolution or layers.MaskedConv1D(filters, 3, name=f"conv_{filters}"),
            keras.layers.BatchNormalization(momentum=0.5),
            keras.layers.PReLU(shared_axes=[1]),
        ]

    return keras.Sequential(
        [
            keras.Input((None, 3)),
            *front,
            layers.ChannelNormalization(),
            *block(8),
            layers.MaskedAveragePooling1D(3),
            *(block(12) if convolution is None else []),
            *after,
            head or layers.QuantileLayer(KNOTS),
        ]
    )


@pytest.fixture(scope="module")
def walks():
    """Draws recordings of an accelerometer, with gravity."""
    return [sample(length, 3, length) + GRAVITY for length in (1, 2, 9, 40, 120)]


@pytest.fixture(scope="module")
def model(walks):
    return lived_in(quantile_model(front=[layers.GravityFrame("both", lag=3)]))


@pytest.fixture(scope="module")
def made(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("c") / "walks"
    return export.microcontroller(model, folder, steps=150, tflm=HAS_TRUNK)


@pytest.fixture(scope="module")
def library(made):
    return CLibrary().load(made.path)


@pytest.fixture(scope="module")
def sums_model():
    """Returns a model of bounded channels, their lagged correlations and their means."""
    rng = np.random.default_rng(4)
    signal = keras.Input((None, 3))
    x = signal
    for scale in (0.5, 2.0):
        part = keras.layers.Activation("tanh")(keras.layers.Rescaling(scale)(signal))
        x = part if x is signal else keras.layers.Concatenate()([x, part])
    normalization = layers.ChannelNormalization()
    x = normalization(x)
    correlations = layers.LaggedCorrelation((0, 5, 2, 17))(x)
    means = layers.SequencePooling("mean")(x)
    head = layers.LinearDiscriminants(7)
    model = keras.Model(signal, head(keras.layers.Concatenate()([correlations, means])))
    normalization.mean.assign(rng.normal(size=6) / 4)
    normalization.stddev.assign(rng.uniform(0.3, 1, size=6))
    head.kernel.assign(rng.normal(size=head.kernel.shape) / 3)
    head.bias.assign(rng.normal(size=7))
    return model


@pytest.fixture(scope="module")
def sums(sums_model, tmp_path_factory):
    result = export.microcontroller(sums_model, tmp_path_factory.mktemp("c") / "sums")
    return CLibrary().load(result.path)


def self_test(folder, build, flags=STRICT):
    """Compiles the self-test of a folder, and returns its exit status and its output."""
    program = build / "selftest"
    sources = map(str, sorted(folder.glob("*.c")))
    subprocess.run(["gcc", *flags, "-o", str(program), *sources, "-lm"], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@needs_gcc
def test_embeddings_with_int8_weights_are_close_to_keras(model, made, library, walks):
    actual = library.embed(walks).reshape(len(walks), -1, KNOTS + 2)
    expected = keras_dml.embed(model, walks)
    assert parity.relative_rms(actual, expected[:, :-1]) < 0.03
    assert made.weights == "int8" and 0 < made.drift < 0.03
    assert made.difference <= 1e-6  # the C code computes what was compared with Keras


@needs_gcc
def test_distances_are_those_of_keras(model, library, walks):
    embeddings = keras_dml.embed(model, walks)
    values = np.ascontiguousarray(embeddings[:, :-1]).reshape(len(walks), -1)
    actual, expected = (
        library.distance(values, values),
        keras_dml.distance(model, *[embeddings] * 2),
    )
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * expected.max())


@needs_gcc
def test_discriminants_by_running_sums_are_those_of_keras(sums_model, sums):
    recordings = [sample(length, 3, length) for length in (1, 5, 6, 63, 64, 65, 700)]
    recordings += [recordings[-1] * 1e-3 + 2, np.full((70, 3), 0.7, np.float32)]
    actual, expected = sums.embed(recordings), keras_dml.embed(sums_model, recordings)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-4)
    assert np.ptp(expected, axis=0).min() > 0.1
    distances = sums.distance(actual, actual)
    np.testing.assert_allclose(
        distances, keras_dml.distance(sums_model, actual, actual), rtol=0, atol=1e-5
    )


@needs_gcc
def test_angular_rates_in_the_frame_of_gravity_are_those_of_keras(tmp_path):
    signal = keras.Input((None, 6))
    normalized = layers.ChannelNormalization()(layers.GravityFrame("both", lag=3)(signal))
    head = layers.LinearDiscriminants(5)
    model = keras.Model(signal, head(layers.LaggedCorrelation((0, 2))(normalized)))
    rng = np.random.default_rng(3)
    head.kernel.assign(rng.normal(size=head.kernel.shape) / 20)
    library = CLibrary().load(export.microcontroller(model, tmp_path / "walks").path)
    recordings = [sample(length, 6, length) for length in (9, 40, 120)]
    recordings = [recording + np.float32([0, 7, -7, 0, 0, 0]) for recording in recordings]
    actual, expected = library.embed(recordings), keras_dml.embed(model, recordings)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-4)
    assert np.ptp(expected, axis=0).min() > 0.1


@needs_gcc
def test_a_recording_in_pieces_gives_the_same_embedding(sums):
    recording, c = sample(100, 3, 1), sums.functions
    embedding = np.zeros(7, np.float32)
    c.kd_begin()
    assert c.kd_finish(embedding.ctypes.data_as(ctypes.c_void_p)) == LENGTH
    for step in recording:
        assert c.kd_push(np.ascontiguousarray(step).ctypes.data_as(ctypes.c_void_p)) == OK
    assert c.kd_push(np.float32([0, np.nan, 0]).ctypes.data_as(ctypes.c_void_p)) == VALUE
    assert c.kd_finish(embedding.ctypes.data_as(ctypes.c_void_p)) == OK
    np.testing.assert_array_equal(embedding, sums.embed([recording])[0])


@needs_gcc
def test_the_code_compiles_without_warnings_and_passes_its_test(made, tmp_path):
    code, printed = self_test(made.path, tmp_path)
    assert (code, "\ncorrect" in printed) == (0, True), printed


@needs_gcc
@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_a_program_in_cpp_can_call_the_functions(made, tmp_path):
    program = tmp_path / "main.cpp"
    program.write_text(
        '#include "kd.h"\n'
        "int main() { return kd_embed(nullptr, 1, nullptr) == KD_ERROR_NULL ? 0 : 1; }\n"
    )
    sources = map(str, sorted(made.path.glob("kd_*.c")))
    subprocess.run(["gcc", "-std=c99", "-c", *sources], check=True, cwd=tmp_path)
    objects = map(str, sorted(tmp_path.glob("*.o")))
    command = ["g++", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{made.path}", str(program)]
    subprocess.run([*command, *objects, "-o", str(tmp_path / "main")], check=True)
    subprocess.run([str(tmp_path / "main")], check=True)


def test_one_slope_for_all_filters_is_the_slope_of_each_filter():
    signal = keras.Input((None, 3))
    x = layers.MaskedConv1D(8, 3)(layers.ChannelNormalization()(signal))
    prelu = keras.layers.PReLU(shared_axes=[1, 2])
    x = prelu(keras.layers.BatchNormalization()(x))
    model = keras.Model(signal, layers.QuantileLayer(KNOTS)(x))
    prelu.alpha.assign([[0.25]])
    assert read(model).convolutions[0].slope.tolist() == [0.25] * 8  # C code reads all of them


@needs_gcc
def test_the_self_test_notices_a_wrong_bias(made, tmp_path):
    folder = shutil.copytree(made.path, tmp_path / "copy")
    text = (folder / "kd_tables.c").read_text()
    changed = text.replace("biases_1[] = {", "biases_1[] = {0.5f + ")
    assert changed != text
    (folder / "kd_tables.c").write_text(changed)
    code, printed = self_test(folder, tmp_path, ["-std=c99"])
    assert code == 1 and "kd_embed" in printed and "not correct" in printed


@needs_gcc
def test_invalid_recordings_are_refused_by_a_status(library, walks):
    embed, walk = library.functions.kd_embed, walks[-1]
    out = np.zeros(12 * (KNOTS + 2), np.float32)
    for length in (0, -1, -(2**31), 151, 2**31 - 1):
        assert embed(walk, length, out) == LENGTH
    for value in (np.nan, np.inf, -np.inf):
        bad = walk.copy()
        bad[-1, -1] = value
        assert embed(bad, len(bad), out) == VALUE
        assert embed(bad, len(bad) - 1, out) == OK  # numbers after the length are not read
    for size in (1e30, 3e38):  # finite, but gravity overflows
        assert embed(np.full_like(walk, size), len(walk), out) == VALUE


@needs_gcc
def test_a_gallery_enrolls_and_removes_people(library, walks):
    class Gallery(ctypes.Structure):
        _fields_ = [
            ("count", ctypes.c_int32),
            ("people", ctypes.c_int32 * 8),
            ("embeddings", ctypes.c_float * (12 * (KNOTS + 2)) * 8),
        ]

    c, embeddings = library.functions, library.embed(walks)
    pointers = [row.ctypes.data_as(ctypes.c_void_p) for row in embeddings]
    gallery, distance = Gallery(), ctypes.c_float()

    def nearest(person, i):
        status = c.kd_nearest(ctypes.byref(gallery), person, pointers[i], ctypes.byref(distance))
        return status, distance.value

    assert nearest(3, 0)[0] == EMPTY
    for person, i in ((3, 0), (5, 1), (3, 2)):
        assert c.kd_enroll(ctypes.byref(gallery), person, pointers[i]) == OK
    expected = library.distance(embeddings, embeddings)
    assert nearest(3, 3) == (OK, expected[3, [0, 2]].min())
    assert nearest(5, 3) == (OK, expected[3, 1])
    assert c.kd_remove(ctypes.byref(gallery), 3) == OK
    assert (nearest(3, 3)[0], nearest(5, 3)[0], gallery.count) == (EMPTY, OK, 1)
    assert not np.any(np.ctypeslib.as_array(gallery.embeddings)[1:])
    for _ in range(7):
        assert c.kd_enroll(ctypes.byref(gallery), 1, pointers[4]) == OK
    assert c.kd_enroll(ctypes.byref(gallery), 1, pointers[4]) == FULL
    for count in (-1, 9):
        gallery.count = count
        assert nearest(1, 0)[0] == DAMAGED


def test_unsupported_layers_are_named(tmp_path):
    other = [keras.layers.Conv1D(4, 3, padding="same", name="plain")]
    models = {
        "SequencePooling": quantile_model(head=layers.SequencePooling("max")),
        "flatten=True": quantile_model(head=layers.QuantileLayer(KNOTS, flatten=True)),
        "p=2": quantile_model(head=layers.QuantileLayer(KNOTS, p=2)),
        "InstanceStandardization": quantile_model(front=[layers.InstanceStandardization()]),
        "Conv1D ('plain')": quantile_model(after=other),
        "dilated": quantile_model(
            convolution=layers.MaskedConv1D(8, 3, dilation_rate=2, name="dilated")
        ),
        "ReLU": quantile_model(after=[layers.MaskedConv1D(4, 3), keras.layers.ReLU()]),
    }
    signal = keras.Input((None, 3))
    inner = keras.Sequential([keras.Input((None, 3)), layers.MaskedConv1D(3, 3)], name="inner")
    for name, x in (
        ("inner", inner(signal)),
        ("Add ('sum')", keras.layers.Add(name="sum")([signal, layers.MaskedConv1D(3, 3)(signal)])),
    ):
        models[name] = keras.Model(signal, layers.QuantileLayer(KNOTS)(x))
    for name, model in models.items():
        with pytest.raises(export.UnsupportedModelError, match=re.escape(name)):
            export.microcontroller(model, tmp_path / "c")
    assert not list(tmp_path.iterdir())


def test_steps_outside_the_contract_are_refused(sums_model, tmp_path):
    contract = layers.InputContract(["x", "y", "z"], "g", min_steps=20, max_steps=90)
    signal = keras.Input((None, 3))
    model = keras.Model(signal, sums_model(contract(signal)))
    with pytest.raises(export.UnsupportedModelError, match="Functional"):
        export.microcontroller(model, tmp_path / "c")
    model = quantile_model(front=[contract])
    for steps in (19, 91):
        with pytest.raises(ValueError, match=f"`steps` is {steps}, .* 20 to 90 steps"):
            export.microcontroller(model, tmp_path / "c", steps=steps)
    with pytest.raises(TypeError):
        export.microcontroller(model, tmp_path / "c", steps="many")
    assert not list(tmp_path.iterdir())


def test_without_a_compiler_a_note_says_that_the_code_was_not_run(
    sums_model, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    made = export.microcontroller(sums_model, tmp_path / "c", steps=40)
    assert made.difference is None and len(made.notes) == 1
    assert made.most_steps == 40 and (made.path / "selftest.c").is_file()


@needs_gcc
def test_a_library_that_fails_its_test_is_not_written(sums_model, tmp_path, monkeypatch):
    monkeypatch.setattr(compiler, "FLAGS", ("-std=c99", "-Dtanhf=sinf"))
    with pytest.raises(parity.ParityError, match="kd_embed"):
        export.microcontroller(sums_model, tmp_path / "c", steps=40)
    assert not list(tmp_path.iterdir())


@needs_gcc
def test_a_compilation_that_takes_too_long_is_refused(sums_model, tmp_path, monkeypatch):
    monkeypatch.setattr(compiler, "SECONDS", 1e-3)
    with pytest.raises(RuntimeError, match="`steps`"):
        export.microcontroller(sums_model, tmp_path / "c", steps=40)
    assert not list(tmp_path.iterdir())


def test_only_c_libraries_are_replaced(sums_model, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="not a C library"):
        export.microcontroller(sums_model, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


@needs_gcc
@pytest.mark.slow
@pytest.mark.parametrize("name", [*ZOO, *OTHERS])
def test_models_of_the_zoo_agree_with_keras(name, tmp_path):
    made = export.microcontroller(name, tmp_path / name)
    code, printed = self_test(made.path, tmp_path)
    assert code == 0, printed
    library = CLibrary().load(made.path)
    folder = microcontroller_agreement.ROOT / name
    recordings, expected = zoo.reading.read_golden(folder / "golden.npz")
    recordings = [recording[: made.most_steps] for recording in recordings]
    expected = keras_dml.embed(zoo.load(name), recordings)
    values = expected[:, :-1] if expected.ndim == 3 else expected
    drift = parity.relative_rms(library.embed(recordings), values.reshape(len(values), -1))
    assert drift < (0.03 if made.weights == "int8" else parity.BOUNDS[None].embedding)


def compiled_sizes(library, folder):
    """Compiles a C library in a folder, and returns the bytes of its buffers and of its tables."""
    command = ["gcc", "-std=c99", "-m32", "-c", *map(str, library.glob("kd_*.c"))]
    if subprocess.run(command, cwd=folder, capture_output=True).returncode != 0:
        command.remove("-m32")  # pointers of 8 bytes, in 16 rows of a table
        subprocess.run(command, cwd=folder, check=True)
    printed = subprocess.check_output(["size", "-A", *folder.glob("*.o")], text=True)
    sections = re.findall(r"^(\.rodata|\.data\.rel\.ro\S*|\.bss)\s+(\d+)", printed, re.MULTILINE)
    ram = sum(int(size) for section, size in sections if section == ".bss")
    return ram, sum(int(size) for section, size in sections if section != ".bss")


@needs_gcc
def test_the_buffers_of_a_library_with_a_trunk_are_counted(made, tmp_path):
    ram, _ = compiled_sizes(made.path, tmp_path)
    assert abs(ram - made.ram_bytes) <= 64


@needs_gcc
@pytest.mark.slow
@pytest.mark.parametrize("name", ZOO)
def test_sizes_are_those_of_the_compiled_code(name, tmp_path):
    made = export.microcontroller(name, tmp_path / name)
    ram, flash = compiled_sizes(made.path, tmp_path)
    assert abs(ram - made.ram_bytes) <= 64 and abs(flash - made.flash_bytes) <= 1200
    assert made.ram_bytes < (40_000 if made.weights == "int8" else 4_000)


@needs_gcc
@pytest.mark.slow
@pytest.mark.parametrize("name", ZOO)
def test_error_rates_of_test_people_stay_within_half_a_point(name, tmp_path, data_dir):
    measured = microcontroller_agreement.recordings_of(name)
    made = export.microcontroller(name, tmp_path / name, steps=max(map(len, measured.signals)))
    library = CLibrary().load(made.path)
    row = microcontroller_agreement.measure(library, name, measured)
    assert row.genuine > 500 and abs(row.eer_c - row.eer_keras) < 0.005
    decisions = len(row.flips) * (row.genuine + row.imposter)
    assert sum(row.flips.values()) <= (0.001 if made.weights == "int8" else 1e-4) * decisions


def test_a_model_without_convolutions_has_no_trunk(sums_model, tmp_path):
    with pytest.raises(ValueError, match="`tflm` is True"):
        export.microcontroller(sums_model, tmp_path / "c", tflm=True)
    assert not list(tmp_path.iterdir())


def embedding_of_trunk(library, recording, features, run):
    """Computes an embedding by the C code around a trunk.

    Args:
        library: `CLibrary` with a trunk.
        recording: Recording with the number of steps of the trunk.
        features: Number of features of a time step.
        run: Function that computes the output of the trunk from its input.
    """
    c = library.functions
    signal = np.ascontiguousarray(recording, np.float32)
    source = np.zeros((len(signal), features), np.int8)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (signal, source)]
    assert c.kd_trunk_input(pointers[0], len(signal) - 1, pointers[1]) == LENGTH
    assert c.kd_trunk_input(pointers[0], len(signal), pointers[1]) == OK
    output = np.ascontiguousarray(run(source), np.int8)
    embedding = np.zeros(library.embed([recording]).shape[1], np.float32)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (output, embedding)]
    assert c.kd_trunk_embedding(*pointers) == OK
    return embedding


@needs_gcc
@needs_trunk
def test_the_c_code_around_the_trunk_computes_embeddings(model, made, library):
    file, network, recording = made.path / "trunk.tflite", read(model), sample(150, 3, 5) + GRAVITY
    result = trunk.run(file, network, recording)

    def run(source):
        difference = source.astype(int) - result.source
        assert np.abs(difference).max() <= 1 and np.mean(difference != 0) < 0.01
        return result.output

    embedding = embedding_of_trunk(library, recording, len(network.front.means), run)
    expected = quantization.quantiles(result.activations, network.knots)
    np.testing.assert_allclose(embedding, expected.ravel(), rtol=0, atol=1e-5)
    (by_keras,) = keras_dml.embed(model, [recording])
    assert parity.relative_rms(expected, by_keras[:-1]) < 0.1
    distances = library.distance(embedding[None], library.embed([recording]))
    assert distances < 0.3 * library.distance(embedding[None], library.embed([-recording]))


@needs_trunk
def test_the_trunk_has_only_operators_of_tflm(made):
    (names,) = operators.operators(made.path / "trunk.tflite")
    assert set(names) == {"CONV_2D", "PRELU", "AVERAGE_POOL_2D"}


@pytest.mark.slow
@needs_trunk
def test_a_folder_with_a_trunk_is_replaced(model, tmp_path):
    made = export.microcontroller(model, tmp_path / "c", steps=90, tflm=True)
    assert export.microcontroller(model, made.path, steps=90).path.is_dir()
    assert not (made.path / "trunk.tflite").exists()


@needs_gcc
@needs_trunk
@pytest.mark.slow
@pytest.mark.parametrize("name", ["gait_qp_wl", "phone_gait_qp_wl"])
def test_the_trunk_runs_on_tflm(name, tmp_path):
    """Runs `trunk.tflite` by the pip package `tflite-micro`, and compares it with LiteRT and with
    Keras. The package is not part of the extra `test`, because it needs NumPy 2.4."""
    runtime = pytest.importorskip("tflite_micro").runtime
    model = zoo.load(name)
    made = export.microcontroller(model, tmp_path / "c", steps=250, tflm=True)
    file, network = made.path / "trunk.tflite", read(model)
    recordings, _ = zoo.reading.read_golden(microcontroller_agreement.ROOT / name / "golden.npz")
    recording = recordings[0][:250].astype(np.float32)
    interpreter = runtime.Interpreter.from_bytes(file.read_bytes(), arena_size=60_000)
    by_litert = trunk.run(file, network, recording)

    def run(source):
        interpreter.set_input(source[None, :, None], 0)
        interpreter.invoke()
        output = interpreter.get_output(0)[0, :, 0]
        activations = dataclasses.replace(by_litert, output=output).activations
        assert parity.relative_rms(activations, by_litert.activations) < 0.02
        return output

    library = CLibrary().load(made.path)
    embedding = embedding_of_trunk(library, recording, len(network.front.means), run)
    (expected,) = keras_dml.embed(model, [recording])
    assert parity.relative_rms(embedding, expected[:-1].ravel()) < 0.1


@needs_gcc
@pytest.mark.slow
def test_random_recordings_never_break_the_code(made, tmp_path):
    """Calls the functions with random bits and random lengths, under sanitizers."""
    program = tmp_path / "fuzz.c"
    program.write_text(FUZZ)
    sources = [str(program), *map(str, sorted(made.path.glob("kd_*.c")))]
    command = ["gcc", *STRICT, f"-I{made.path}", "-o", str(tmp_path / "fuzz"), *sources, "-lm"]
    subprocess.run(command, check=True)
    done = subprocess.run([str(tmp_path / "fuzz")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


FUZZ = r"""
#include "kd.h"
#include <stdlib.h>
#include <string.h>

static float signal[KD_MAX_STEPS * KD_CHANNELS];
static float a[KD_EMBEDDING], b[KD_EMBEDDING];
#if KD_TRUNK
static int8_t trunk[KD_TRUNK_INPUT];
#endif

int main(void)
{
    int accepted = 0;
    srand(1);
    for (int i = 0; i < 3000; i++) {
        float distance;
        int32_t length = rand() % (KD_MAX_STEPS + 20) - 10;
        for (int j = 0; j < KD_MAX_STEPS * KD_CHANNELS; j++) {
            uint32_t bits = ((uint32_t)rand() << 16) ^ (uint32_t)rand();
            if (i % 2) { /* finite */
                bits &= 0xff7fffffu;
            }
            memcpy(&signal[j], &bits, sizeof bits);
        }
        accepted += kd_embed(signal, length, i % 4 ? a : b) == KD_OK;
        (void)kd_distance(a, b, &distance);
        (void)kd_distance(signal, a, &distance);
#if KD_TRUNK
        (void)kd_trunk_input(signal, length, trunk);
        (void)kd_trunk_input(signal, KD_MAX_STEPS, trunk);
        (void)kd_trunk_embedding((const int8_t *)signal, b);
#endif
    }
    return accepted < 0;
}
"""
