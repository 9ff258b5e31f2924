"""Tests that exported galleries decide on devices that have only NumPy and LiteRT."""

import importlib.metadata
import json
import re
import subprocess
import sys

import numpy as np
import pytest

from keras_dml import distances, layers, models, quality
from keras_dml import gallery as galleries
from keras_dml._backend import keras
from keras_dml.export import parity
from keras_dml.gallery import Gallery, _decide, device

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="TensorFlow writes the files"
)
CHANNELS, NAMES = 3, ("alice", "bob", "zoë")
NEEDS = ("numpy", "ai-edge-litert")
WITHOUT_LITERT = (
    "import runpy, sys; sys.modules['ai_edge_litert'] = None\n"
    "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
)


def compared_by(head):
    """Returns a model with a distance in its head."""
    keras.utils.set_random_seed(1)
    signal = keras.Input((None, CHANNELS))
    inputs_ = layers.InputContract(["x", "y", "z"], "g", 50, min_steps=8)(signal)
    x = layers.MaskedConv1D(6, 3, padding="same")(inputs_)
    return keras.Model(signal, head(x), name="small")


def classifier():
    encoder = compared_by(layers.SequencePooling())
    return models.PrototypicalClassifier(encoder, 2, hidden=(8,))


def covariances():
    keras.utils.set_random_seed(1)
    return models.spdnet((CHANNELS, 2), output="spd", estimator="oas")


@keras.saving.register_keras_serializable("tests")
class LogEuclideanCovariance(layers.Covariance):
    """Covariance layer with the log-Euclidean distance."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.distance = distances.LogEuclidean()


def logarithms():
    keras.utils.set_random_seed(1)
    signal = keras.Input((None, CHANNELS))
    return keras.Model(signal, LogEuclideanCovariance("oas")(signal), name="logarithms")


MODELS = {
    "affine_invariant": covariances,
    "cosine": lambda: compared_by(layers.StatisticsPooling()),
    "learned_similarity": classifier,
    "log_euclidean": logarithms,
    "wasserstein": lambda: compared_by(layers.QuantileLayer(6)),
}


@pytest.fixture(scope="module", params=sorted(MODELS))
def model(request):
    return MODELS[request.param]()


def walks(name, count=3, steps=20, seed=0):
    rng = np.random.default_rng([seed, *name.encode()])
    level = np.random.default_rng([*name.encode()]).normal(scale=3, size=CHANNELS)
    return [rng.normal(level, 1, (steps + i, CHANNELS)).astype(np.float32) for i in range(count)]


def filled(path, model, far=0.8):
    opened = Gallery(path, model, tries=None)
    people = [f"volunteer {i}" for i in range(8)]
    opened.calibrate([walk for name in people for walk in walks(name)], np.repeat(people, 3), far)
    for name in NAMES:
        z = opened._model.embed(walks(name))
        opened._records.add(name, z)  # an untrained model has no useful thresholds
    opened._records.add("bob", opened._model.embed(walks("alice", 1)), enrolled=False)
    return opened


def decided(folder):
    """Returns the decisions of the exported files, computed in this process."""
    return _decide.Gallery(folder)


@pytest.mark.slow
@pytest.mark.parametrize(("quantization", "error"), [(None, 1e-4), ("float16", 1e-2)])
def test_exported_files_decide_as_the_gallery(model, tmp_path, quantization, error):
    with filled(tmp_path / "family.db", model) as gallery:
        exported = galleries.export_tflite(gallery, tmp_path / "watch", quantization)
        device = decided(tmp_path / "watch")
        assert exported.people == 3 and exported.templates == 10 and exported.far == 0.8
        assert device.threshold == gallery.thresholds[0.8].value
        for seed in range(1, 4):
            for name in (*NAMES, "nobody"):
                check_one(gallery, device, walks(name, 2, seed=seed), error)


@pytest.mark.slow
def test_a_gate_that_refuses_noise_does_not_refuse_the_export(tmp_path):
    with filled(tmp_path / "family.db", MODELS["wasserstein"]()) as gallery:
        gallery._model._gate = quality.Gate(quality.Usual(("x", "y", "z"), stddev=3 * (9,)))
        assert len(gallery.unfit(walks("alice", 3))) == 3
        exported = galleries.export_tflite(gallery, tmp_path / "watch", None)
        assert exported.people == len(NAMES) and exported.difference < 1e-4


def check_one(gallery, device, observed, error):
    """Checks that the exported files give the same scores and decisions as the gallery.

    The scores on the device may differ from the scores in the gallery by a fraction `error` of the
    largest score. If the difference between score and threshold is larger than this tolerance, the
    decisions must be equal.
    """
    scores_on_device = device.scores(*observed)
    expected = {name: gallery.verify(name, observed) for name in NAMES}
    error *= max(abs(candidate.score) for candidate in expected.values())
    for name, decision in expected.items():
        if decision.denied:
            assert scores_on_device[name] == np.inf and not device.verify(name, *observed)
            continue
        np.testing.assert_allclose(scores_on_device[name], decision.score, rtol=0, atol=error)
        if abs(decision.score - decision.threshold) > error:
            assert device.verify(name, *observed) == decision.accepted
    nearest = gallery.identify(observed)
    scores = [candidate.score for candidate in nearest.candidates]
    if abs(scores[0] - nearest.threshold) > error and scores[1] - scores[0] > 2 * error:
        assert device.identify(*observed) == nearest.person


@pytest.fixture(scope="module")
def watch(tmp_path_factory):
    """Folder of an exported gallery, `{name: path of a recording}`, and the `DeviceGallery`."""
    folder = tmp_path_factory.mktemp("watch")
    with filled(folder / "family.db", MODELS["wasserstein"]()) as gallery:
        exported = galleries.export_tflite(gallery, folder / "device", None)
        decisions = {}
        for name in (*NAMES, "nobody"):
            (walk,) = walks(name, 1, seed=5)
            np.save(folder / f"{name}.npy", walk)
            decisions[name] = gallery.identify(walk).person, gallery.verify("alice", walk).accepted
    return folder, exported, decisions


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Folder that contains only NumPy, ai-edge-litert and the packages that they need."""
    folder, wanted, seen = tmp_path_factory.mktemp("bare"), [*NEEDS], set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # a package for another Python or system
        wanted += [
            re.match(r"[\w.-]+", requirement)[0]
            for requirement in distribution.requires or ()
            if "extra ==" not in requirement
        ]
        for top in {file.parts[0] for file in distribution.files} - {".."}:
            link = folder / top
            if not link.exists():
                link.symlink_to(distribution.locate_file(top))
    return folder


def run_bare(bare, *words):
    """Runs Python with only the packages in a folder."""
    code = (
        "import runpy, sys; sys.path.insert(0, sys.argv[1]); sys.argv = sys.argv[2:]\n"
        "try: import keras, tensorflow\n"
        "except ImportError: runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    command = [sys.executable, "-I", "-S", "-c", code, bare, *words]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return done.returncode, done.stdout.strip(), done.stderr


@pytest.mark.slow
def test_numpy_and_litert_alone_decide_as_the_gallery(watch, bare):
    folder, _, decisions = watch
    decide = folder / "device" / "decide.py"
    code, out, err = run_bare(bare, decide)
    assert code == 0 and "scores differ by" in out, err
    for name, (person, is_alice) in decisions.items():
        recording = folder / f"{name}.npy"
        assert run_bare(bare, decide, recording)[:2] == (
            int(person is None),
            person or "a stranger",
        )
        answer = "accepted" if is_alice else "rejected"
        assert run_bare(bare, decide, "alice", recording)[:2] == (int(not is_alice), answer)
    code, out, err = run_bare(bare, decide, "nobody", folder / "bob.npy")
    assert (code, out) == (2, "") and "KeyError: 'nobody'" in err


@pytest.mark.slow
def test_every_error_exits_with_2(watch, bare, tmp_path):
    cut = tmp_path / "cut.npy"
    cut.touch()
    decide = watch[0] / "device" / "decide.py"
    code, out, err = run_bare(bare, decide, "alice", cut)
    assert (code, out) == (2, "") and "EOFError" in err and "Traceback" not in err
    code, out, err = run_bare(bare, decide, "voice.wav")
    assert (code, out) == (2, "") and "Received only 'voice.wav'" in err
    done = subprocess.run(
        [sys.executable, "-I", "-c", WITHOUT_LITERT, decide], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "") and "ai_edge_litert" in done.stderr


@pytest.mark.slow
def test_gallery_json_states_inputs_and_rule(watch):
    folder, exported, _ = watch
    about = json.loads((folder / "device" / "gallery.json").read_text())
    assert about["people"] == dict.fromkeys(NAMES, 3)
    assert about["takes"]["channels"] == ["x", "y", "z"] and about["takes"]["rate_hz"] == 50
    assert about["threshold"]["far"] == 0.8 and len(about["threshold"]["far_ci95"]) == 2
    rule = about["threshold"]["rule"]
    assert f"is at most {exported.threshold:.6g}" in rule
    assert f"larger by at most {about['threshold']['margin']:.6g}" in rule
    assert len(about["model"]["fingerprint"]) == 64 and "/" not in about["model"]["name"]
    assert {path.name for path in exported.path.iterdir()} == {
        *("model.tflite", "gallery.npz", "golden.npz", "gallery.json", "decide.py")
    }
    assert exported.bytes == sum(path.stat().st_size for path in exported.path.iterdir())
    assert exported.model.path == exported.path / "model.tflite"


def test_the_golden_probe_detects_a_device_that_computes_differently(watch, tmp_path):
    folder, *_ = watch
    for path in (folder / "device").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    difference, allowed = _decide.check(tmp_path)
    assert difference <= allowed
    with np.load(tmp_path / "gallery.npz") as arrays:
        changed = dict(arrays) | {"templates": np.roll(arrays["templates"], 1, axis=1)}
    np.savez(tmp_path / "gallery.npz", **changed)
    difference, allowed = _decide.check(tmp_path)
    assert difference > allowed


def test_the_device_does_not_decide_between_people_within_the_margin(watch):
    folder, *_ = watch
    with Gallery(folder / "family.db", MODELS["wasserstein"]()) as gallery:
        (threshold,) = gallery.thresholds.values()
    device = decided(folder / "device")
    assert device.margin == threshold.margin
    probe = np.load(folder / "alice.npy")
    (first, least), (_, second) = sorted(device.scores(probe).items(), key=lambda x: x[1])[:2]
    device.threshold, device.margin = np.inf, 0.9 * (second - least)
    assert device.identify(probe) == first
    device.margin = 1.1 * (second - least)
    with pytest.raises(ValueError, match=first):
        device.identify(probe)


def test_a_folder_of_an_earlier_version_has_no_margin(watch, tmp_path):
    (tmp_path / "model.tflite").write_bytes((watch[0] / "device" / "model.tflite").read_bytes())
    with np.load(watch[0] / "device" / "gallery.npz") as arrays:
        earlier = {name: arrays[name] for name in arrays if name != "margin"}
    np.savez(tmp_path / "gallery.npz", **earlier)
    assert decided(tmp_path).margin == 0


@pytest.mark.parametrize(
    "recording",
    [
        np.zeros((20, CHANNELS + 1)),
        np.zeros(20),
        np.zeros((0, CHANNELS)),
        np.full((20, CHANNELS), np.nan),
    ],
)
def test_the_device_refuses_invalid_recordings(watch, recording):
    with pytest.raises(ValueError, match=r"must have shape \(any, 3\) and hold only finite values"):
        decided(watch[0] / "device").scores(recording)


def test_the_device_refuses_a_recording_that_is_too_short_for_the_model(watch):
    with pytest.raises(ValueError, match="has 7 steps, .* at least 8 and at most inf"):
        decided(watch[0] / "device").scores(np.zeros((7, CHANNELS)))


@pytest.mark.slow
def test_another_folder_is_left_and_an_earlier_export_is_replaced(watch, tmp_path):
    folder, *_ = watch
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "gallery.json").write_text("years")
    (tmp_path / "thesis" / "chapter1.txt").write_text("years")
    with Gallery(folder / "family.db", MODELS["wasserstein"]()) as gallery:
        with pytest.raises(ValueError, match="Nothing was changed"):
            galleries.export_tflite(gallery, tmp_path / "thesis", None)
        again = galleries.export_tflite(gallery, folder / "device", None)
    assert (tmp_path / "thesis" / "chapter1.txt").read_text() == "years"
    assert again.people == 3 and _decide.check(folder / "device")[0] < np.inf
    assert (folder / "device").stat().st_mode & 0o077 == 0


def test_without_people_or_a_threshold_nothing_is_written(tmp_path):
    with Gallery(tmp_path / "family.db", MODELS["cosine"]()) as gallery:
        with pytest.raises(ValueError, match="no threshold.*Use `calibrate`") as caught:
            galleries.export_tflite(gallery, tmp_path / "watch")
        assert "`threshold`" not in str(caught.value)  # `export_tflite` has no such argument
    with filled(tmp_path / "other.db", MODELS["cosine"]()) as gallery:
        with pytest.raises(ValueError, match="`far` is 0.1, .* calibrated: 0.8"):
            galleries.export_tflite(gallery, tmp_path / "watch", far=0.1)
        for name in NAMES:
            gallery.remove(name)
        with pytest.raises(ValueError, match="Nobody is enrolled"):
            galleries.export_tflite(gallery, tmp_path / "watch")
    assert not (tmp_path / "watch").exists()


def test_a_distance_that_no_device_computes_is_refused(tmp_path):
    model = covariances()
    model.distance = "stein"
    with filled(tmp_path / "family.db", model) as gallery:
        with pytest.raises(ValueError, match="the distance 'stein', but a file for a device"):
            galleries.export_tflite(gallery, tmp_path / "watch")


@pytest.mark.slow
def test_files_that_decide_differently_are_not_written(tmp_path, monkeypatch):
    def another(gallery, count):
        golden = original(gallery, count)
        return golden | {"scores": 2 * golden["scores"]}

    original = device._golden
    monkeypatch.setattr(device, "_golden", another)
    with filled(tmp_path / "family.db", MODELS["cosine"]()) as gallery:
        with pytest.raises(parity.ParityError, match="compute other scores than the gallery"):
            galleries.export_tflite(gallery, tmp_path / "watch")
    assert [path.name for path in tmp_path.iterdir() if "watch" in path.name] == []


def test_files_that_cannot_decide_are_not_written(tmp_path):
    (tmp_path / "decide.py").write_text("raise OSError('the disk is gone')\n")
    with pytest.raises(RuntimeError, match="decide.py .*OSError: the disk is gone"):
        device._difference(tmp_path, {"recording": np.zeros(3)}, 0.1)
