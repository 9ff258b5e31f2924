"""Tests that a gallery with a .tflite file makes the same decisions as a gallery with Keras."""

import concurrent.futures
import dataclasses
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import keras_dml
from keras_dml import edge, export, layers, quality
from keras_dml import gallery as galleries
from keras_dml._backend import keras
from keras_dml.gallery import litert_js
from tests.edge.test_edge import NEEDS

CHANNELS = ("x", "y", "z")
KEY = bytes(range(32))
USES = """
import json, sys
import numpy as np
before = set(sys.modules)
from keras_dml import edge
gallery = edge.Gallery(sys.argv[1], sys.argv[2], tries=None)
with np.load(sys.argv[3]) as file:
    walks = [file[name] for name in file]
people = [f"person {i // 4}" for i in range(len(walks))]
gallery.enroll("person 0", walks[:4])
gallery.verify("person 0", walks[0], threshold=1.0)
gallery.identify(walks[1], threshold=1.0)
gallery.people(), gallery.info(), gallery.unfit(walks)
gallery.remove("person 0")
gallery.close()
tops = {name.split(".")[0] for name in set(sys.modules) - before}
print(json.dumps(sorted(tops - set(sys.stdlib_module_names))))
"""


def walk(person, seed, steps=80):
    """Returns a smooth recording whose three channels have the level of a person."""
    rng = np.random.default_rng([person, seed])
    noise = np.apply_along_axis(
        np.convolve, 0, rng.normal(size=(steps + 6, 3)), np.hanning(7), "valid"
    )
    return (noise + np.arange(3) * person / 4).astype(np.float32)


PEOPLE = [f"person {i}" for i in range(12)]
WALKS = {name: [walk(i, seed) for seed in range(4)] for i, name in enumerate(PEOPLE)}
VOLUNTEERS = np.repeat(PEOPLE, 4)  # each person gives four recordings of two windows
LONG = [walk(i // 4, 20 + i % 4, 160) for i in range(len(VOLUNTEERS))]
PROBES = {name: [walk(i, seed) for seed in (7, 8)] for i, name in enumerate(PEOPLE)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Writes a model for Keras, and the .tflite file of the model."""
    folder = tmp_path_factory.mktemp("model")
    keras.utils.set_random_seed(5)
    contract = layers.InputContract(CHANNELS, "g", 50, min_steps=16)
    walks = [walk for recordings in WALKS.values() for walk in recordings]
    contract.adapt(walks)
    convolution = layers.MaskedConv1D(6, 3, padding="same")
    model = keras.Sequential(
        [keras.Input((None, 3)), contract, convolution, layers.QuantileLayer(knots=5)]
    )
    model.save(folder / "model.keras")
    usual = quality.Usual(CHANNELS, units=("g", "g", "g")).measured(walks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quality, "gate_of", lambda _: quality.Gate(usual))
        export.tflite(model, folder / "model.tflite", None)
    return folder


@pytest.fixture
def both(folder, tmp_path):
    """Two galleries with equal people and thresholds: the first for Keras, the second for edge."""
    kinds = {"keras": keras_dml.Gallery, "edge": edge.Gallery}
    pair = [kind(tmp_path / f"{name}.db", folder, tries=None) for name, kind in kinds.items()]
    enrolled = [[gallery.enroll(name, WALKS[name]) for name in PEOPLE] for gallery in pair]
    # The ids are digests of the embeddings, so they differ if the last bits of embeddings differ.
    first, second = ([dataclasses.replace(one, ids=()) for one in results] for results in enrolled)
    assert first and first == second
    yield pair
    for gallery in pair:
        gallery.close()


def test_decisions_are_those_of_keras(both):
    limits = [gallery.calibrate(LONG, VOLUNTEERS, far=0.1) for gallery in both]
    assert limits[0].value == pytest.approx(limits[1].value, rel=1e-4)
    assert limits[0].far_ci95 == limits[1].far_ci95
    accepted = []
    for name in PEOPLE:
        for claimed in PEOPLE[::3]:
            first, second = (gallery.verify(claimed, PROBES[name]) for gallery in both)
            assert first.accepted == second.accepted
            assert first.score == pytest.approx(second.score, rel=1e-4, abs=1e-5)
            accepted.append(first.accepted)
        first, second = (gallery.identify(PROBES[name]) for gallery in both)
        assert first.person == second.person
        assert [c.person for c in first.candidates] == [c.person for c in second.candidates]
    assert len(set(accepted)) == 2  # both decisions occur


def test_both_classes_use_the_same_file(both, folder, tmp_path):
    first, _ = both
    probe = PROBES[PEOPLE[3]]
    expected = first.verify(PEOPLE[3], probe, threshold=1.0)
    with edge.Gallery(first.path) as gallery:  # the model is the one that the gallery names
        assert gallery.people() == first.people()
        actual = gallery.verify(PEOPLE[3], probe, threshold=1.0)
        assert actual.score == pytest.approx(expected.score, rel=1e-4)
        gallery.remove(PEOPLE[3])
        gallery.enroll("new", [walk(20, 1), walk(20, 2)])
        assert isinstance(gallery.model, edge.Model)
    assert PEOPLE[3] not in first.people() and first.people()["new"] == 2
    assert first.recordings("new")


def test_listening_decides_as_keras_does(both):
    for gallery in both:
        gallery.calibrate_listening(LONG, VOLUNTEERS, far=0.4, window=80)
    answers = []
    for person in range(0, 12, 3):
        recording = walk(person, 31, 160)
        for claimed in PEOPLE[:4]:
            first, second = (gallery.listen(claimed) for gallery in both)
            for chunk in np.split(recording, 4):
                heard = [listening.add(chunk) for listening in (first, second)]
                assert heard[0].answer == heard[1].answer
            answers.append(heard[0].answer)
    assert len(set(answers)) > 1


def test_refused_recordings_have_the_same_reasons(both):
    bad = [np.full((80, 3), np.nan), WALKS[PEOPLE[0]][0][:8], np.ones((80, 2))]
    good = walk(0, 9)
    first, second = (gallery.enroll(PEOPLE[0], [*bad, good]) for gallery in both)
    assert set(first.refused) == {0, 1, 2}
    assert first.refused == second.refused


def test_an_encrypted_gallery_is_shared(folder, tmp_path):
    path = tmp_path / "secret.db"
    with keras_dml.Gallery(path, folder, key=KEY) as gallery:
        gallery.enroll("a", WALKS[PEOPLE[1]])
    with edge.Gallery(path, key=KEY) as gallery:
        assert gallery.verify("a", WALKS[PEOPLE[1]][0], threshold=1e-3).accepted
    with pytest.raises(ValueError, match="key"):
        edge.Gallery(path)


def test_an_explanation_names_moments_and_channels(both):
    _, gallery = both
    changed = WALKS[PEOPLE[4]][0].copy()
    changed[40:, 1] += 30
    explanation = gallery.explain(PEOPLE[4], changed)
    assert explanation.by_removal
    assert explanation.distance == pytest.approx(
        gallery.verify(PEOPLE[4], changed, threshold=1.0).score, rel=1e-4
    )
    assert max(explanation.channels, key=explanation.channels.get) == "y"
    assert max(explanation.moments, key=lambda moment: moment.part).start >= 40


def test_an_export_of_a_gallery_needs_the_keras_model(both, tmp_path, monkeypatch):
    monkeypatch.setattr(litert_js, "check", lambda packages: None)  # npm may be missing
    _, gallery = both
    for function in (galleries.export_tflite, galleries.export_web):
        with pytest.raises(TypeError, match=r"keras_dml\.Gallery") as caught:
            function(gallery, tmp_path / "out")
        assert str(gallery.path) in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_threads_decide_at_the_same_time(both):
    _, gallery = both
    expected = [gallery.verify(name, PROBES[name], threshold=1.0) for name in PEOPLE]
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        for _ in range(3):
            actual = threads.map(
                lambda name: gallery.verify(name, PROBES[name], threshold=1.0), PEOPLE
            )
            assert list(actual) == expected


def test_a_server_needs_keras():
    with pytest.raises(ValueError, match=r"`path` is 'postgresql://me@host/db'"):
        edge.Gallery("postgresql://me:secret@host/db", "gait_qp_wl")


def test_a_model_without_a_file_is_named(folder, tmp_path):
    (tmp_path / "model.keras").write_bytes((folder / "model.keras").read_bytes())
    with pytest.raises(FileNotFoundError, match="model.tflite"):
        edge.Gallery(tmp_path / "g.db", tmp_path)
    assert not (tmp_path / "g.db").exists()


def test_keras_names_a_tflite_file(folder, tmp_path):
    with pytest.raises(ValueError, match=r"model\.tflite is a TFLite file"):
        keras_dml.Gallery(tmp_path / "g.db", folder / "model.tflite")


def test_a_gallery_needs_only_numpy_and_litert(folder, tmp_path):
    walks = {f"{i}": walk for i, walk in enumerate(WALKS[PEOPLE[0]] + WALKS[PEOPLE[1]])}
    np.savez(tmp_path / "walks.npz", **walks)
    words = [tmp_path / "g.db", folder, tmp_path / "walks.npz"]
    root = pathlib.Path(keras_dml.__file__).parents[1]
    process = subprocess.run(
        [sys.executable, "-c", USES, *map(str, words)], capture_output=True, text=True, cwd=root
    )
    assert not process.returncode, process.stderr
    assert set(json.loads(process.stdout)) <= NEEDS
