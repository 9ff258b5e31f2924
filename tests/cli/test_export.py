"""Tests of `keras-dml export` for models."""

import importlib.util
import json
import pathlib

import keras
import numpy as np
import pytest

from keras_dml import export
from keras_dml._messages import Message
from keras_dml.cli import _export_gallery
from keras_dml.export import Export, MicrocontrollerExport, litert, onnx_files


@pytest.fixture
def calls(monkeypatch):
    """Returns the arguments with which exporters are called. Stubs replace the exporters."""
    asked = []

    def tflite(model, path, quantization="dynamic", representative=None, **shapes):
        given = [each for each in shapes.items() if each[1] is not None]
        asked.append(("tflite", path, quantization, representative, *given))
        return Export(pathlib.Path(path), "tflite", quantization, 175_056, 0.012, 0.8, 512)

    def saved_model(model, path):
        asked.append(("saved_model", path))
        return Export(pathlib.Path(path), "saved_model", None, 2_000_000, 0.0, 2.0, 512)

    def onnx(model, path):
        asked.append(("onnx", path))
        return Export(pathlib.Path(path), "onnx", None, 600_000, 0.0, 0.6, 512)

    def microcontroller(model, folder, *, steps):
        asked.append(("microcontroller", folder, steps))
        return MicrocontrollerExport(
            path=pathlib.Path(folder),
            weights="int8",
            flash_bytes=141_208,
            ram_bytes=12_544,
            embedding=1152,
            macs=9_388_032,
            steps=512,
            most_steps=512,
            drift=0.046,
            difference=0.0,
        )

    monkeypatch.setattr(export, "microcontroller", microcontroller)
    monkeypatch.setattr(export, "tflite", tflite)
    monkeypatch.setattr(export, "saved_model", saved_model)
    monkeypatch.setattr(export, "onnx", onnx)
    monkeypatch.setattr(onnx_files, "require", lambda: None)
    return asked


def test_a_written_file_computes_embeddings(command, zoo_folder, tmp_path, rng):
    file = tmp_path / "gait.tflite"
    code, out, err = command("export", "gait_qp_wl", "--to", "tflite", "--out", file)
    assert code == 0, err
    assert "gait.tflite" in out and "kB" in out and "drift" in out
    assert "embed(signal, length), distance(embedding, gallery)" in " ".join(out.split())
    recordings = [rng.normal(size=(steps, 6)) for steps in (20, 33)]
    assert np.isfinite(litert.embed(file, recordings)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ([], "auto"),
        (["--quantization", "float16"], "float16"),
        (["--quantization", "float32"], None),
    ],
)
def test_the_quantization_is_passed_to_the_exporter(command, zoo_folder, calls, option, expected):
    assert command("export", "gait_qp_wl", "--to", "tflite", *option)[0] == 0
    assert calls == [("tflite", pathlib.Path("gait_qp_wl.tflite"), expected, None)]


@pytest.mark.slow
def test_fixed_shapes_are_passed_to_the_exporter(command, zoo_folder, calls):
    options = ["--steps", "128", "--gallery-size", "16"]
    assert command("export", "gait_qp_wl", "--to", "tflite", *options)[0] == 0
    path = pathlib.Path("gait_qp_wl.tflite")
    assert calls == [("tflite", path, "auto", None, ("steps", 128), ("gallery", 16))]


def test_a_c_library_takes_steps_and_prints_its_sizes(command, zoo_folder, calls):
    words = ("export", "gait_qp_wl", "--to", "microcontroller")
    code, out, _ = command(*words, "--steps", "300")
    assert code == 0 and calls == [
        ("microcontroller", pathlib.Path("gait_qp_wl_microcontroller"), 300)
    ]
    for figure in ("141,208 bytes", "12,544 bytes", "4,608 bytes", "9,388,032", "4.6 %"):
        assert figure in out
    for option in (["--quantization", "int8"], ["--gallery-size", "4"]):
        code, _, err = command(*words, *option)
        assert code == 2 and option[0] in err and len(calls) == 1


def test_a_gallery_is_not_a_c_library(command, calls, tmp_path):
    gallery = tmp_path / "family.db"
    gallery.write_bytes(_export_gallery.SQLITE)
    code, _, err = command("export", gallery, "--to", "microcontroller")
    assert code == 2 and "C library" in err and calls == []


@pytest.mark.parametrize("option", ["--steps", "--gallery-size"])
def test_fixed_shapes_are_for_tflite_files_of_models(command, zoo_folder, calls, tmp_path, option):
    gallery = tmp_path / "family.db"
    gallery.write_bytes(_export_gallery.SQLITE)
    for words in (
        ("gait_qp_wl", "--to", "savedmodel", option, 64),
        ("gait_qp_wl", "--to", "onnx", option, 64),
        ("gait_qp_wl", "--to", "tflite", option, 0),
        (gallery, "--to", "tflite", option, 64),
        (gallery, "--to", "templates", option, 64),
    ):
        code, _, err = command("export", *words)
        assert code == 2 and option in err and calls == [], words


@pytest.mark.slow
def test_too_few_steps_are_refused_with_the_name_of_the_option(command, tmp_path):
    out = tmp_path / "gait.tflite"
    words = ("gait_lda", "--to", "tflite", "--steps", 63, "--out", out)
    code, _, err = command("export", *words)
    assert code == 2 and "--steps is 63" in err and "`steps`" not in err and not out.exists()


@pytest.mark.slow
def test_int8_takes_recordings(command, zoo_folder, calls, tmp_path):
    np.savez(tmp_path / "walks.npz", np.zeros((5, 6)), np.ones((7, 6)))
    options = ["--quantization", "int8", "--representative", tmp_path / "walks.npz"]
    assert command("export", "gait_qp_wl", "--to", "tflite", *options)[0] == 0
    ((_, _, quantization, recordings),) = calls
    assert (quantization, [len(each) for each in recordings]) == ("int8", [5, 7])


def test_int8_without_recordings_is_refused(command, zoo_folder):
    words = ("export", "gait_qp_wl", "--to", "tflite", "--quantization", "int8")
    code, _, err = command(*words)
    assert code == 2  # wrong use, as if another required option is missing
    assert "int8 needs --representative FILE.npz" in err and "representative=" not in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("int8 needs {representative}: some", "int8 needs --representative FILE.npz: some"),
        ('{quantization="dynamic"} needs none', "--quantization dynamic needs none"),
        ("with {quantization=None}", "with --quantization float32"),
        ("Exports take it as {distance}.", "Exports take it as `distance=` in Python."),
    ],
)
def test_export_errors_name_command_line_options(command, zoo_folder, monkeypatch, said, told):
    def refused(*_, **__):
        raise ValueError(Message(said))

    monkeypatch.setattr(export, "tflite", refused)
    code, _, err = command("export", "gait_qp_wl", "--to", "tflite")
    assert code == 2 and f"Error: {told}" in err


@pytest.mark.parametrize(
    "arrays", [{}, {"a": np.array(["text"])}, {"a": np.ones(3, complex)}, {"a": np.array([{}])}]
)
def test_arrays_that_are_not_recordings_are_refused(command, zoo_folder, calls, tmp_path, arrays):
    np.savez(tmp_path / "walks.npz", **arrays)
    options = ["--representative", tmp_path / "walks.npz"]
    code, _, err = command("export", "gait_qp_wl", "--to", "tflite", *options)
    assert (code, calls) == (2, [])
    assert "walks.npz is not an .npz file of recordings" in err


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 cut"])
def test_files_that_are_not_npz_are_refused(command, zoo_folder, calls, tmp_path, content):
    (tmp_path / "walks.npz").write_bytes(content)
    options = ["--representative", tmp_path / "walks.npz"]
    code, _, err = command("export", "gait_qp_wl", "--to", "tflite", *options)
    assert (code, calls) == (2, [])
    assert "walks.npz is not an .npz file of recordings" in err


@pytest.mark.slow
@pytest.mark.parametrize(("form", "called"), [("savedmodel", "saved_model"), ("onnx", "onnx")])
def test_a_folder_has_no_quantization(command, zoo_folder, calls, form, called):
    words = ["export", "gait_qp_wl", "--to", form]
    assert command(*words)[0] == 0
    assert calls == [(called, pathlib.Path(f"gait_qp_wl_{form}"))]
    code, _, err = command(*words, "--quantization", "int8")
    assert (code, len(calls)) == (2, 1)
    assert "float32" in err


@pytest.mark.slow
def test_a_model_file_is_exported_by_its_path(command, zoo_folder, calls):
    file = zoo_folder / "gait_qp_wl" / "model.keras"
    code, out, _ = command("export", file, "--to", "tflite", "--json")
    assert code == 0
    assert json.loads(out) == {
        "path": "model.tflite",
        "format": "tflite",
        "quantization": "auto",
        "bytes": 175_056,
        "drift": 0.012,
        "latency_ms": 0.8,
        "steps": 512,
        "flips": None,
        "decisions": 0,
        "notes": [],
    }


def test_a_damaged_model_file_is_one_clear_error(command, zoo_folder, calls):
    file = zoo_folder / "gait_qp_wl" / "model.keras"
    file.write_bytes(file.read_bytes()[:-1])
    code, _, err = command("export", "gait_qp_wl", "--to", "tflite")
    assert (code, calls) == (2, [])
    assert "Error:" in err and "damaged or truncated, or it was replaced" in err
    assert "Traceback" not in err


def test_ctrl_c_leaves_the_old_file_and_says_how_to_go_on(command, zoo_folder, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(export, "tflite", stopped)
    assert command("export", "gait_qp_wl", "--to", "tflite")[0] == 130


def test_onnx_without_its_packages_names_the_extra(command, zoo_folder, tmp_path, monkeypatch):
    find = importlib.util.find_spec

    def without_onnx(name):
        return None if name in onnx_files.PACKAGES else find(name)

    monkeypatch.setattr(importlib.util, "find_spec", without_onnx)
    code, _, err = command("export", "gait_qp_wl", "--to", "onnx", "--out", tmp_path / "gait")
    assert code == 2 and "keras-dml[onnx]" in err and not (tmp_path / "gait").exists()


@pytest.mark.parametrize("kind", ["tflite", "savedmodel", "onnx"])
@pytest.mark.parametrize("out", ["thesis/", "thesis", ".", "/", ""])
def test_an_output_folder_with_other_files_is_refused_first(command, tmp_path, kind, out):
    """The name of the model is wrong too, but the folder is checked first."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.txt").write_text("years")
    place = f"{tmp_path}/{out}" if out not in ("/", "") else out
    code, _, messages = command("export", "no_such_model", "--to", kind, "--out", place)
    assert code == 2 and "no_such_model" not in messages
    assert "was not changed" in messages or "must end in a name" in messages
    assert (tmp_path / "thesis" / "chapter1.txt").read_text() == "years"


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="of the other backends")
def test_the_error_on_another_backend_says_how_to_export(command, zoo_folder, tmp_path):
    out = tmp_path / "gait.tflite"
    code, _, messages = command("export", "gait_qp_wl", "--to", "tflite", "--out", out)
    assert code == 2 and "KERAS_BACKEND=tensorflow" in messages
    assert not list(tmp_path.glob("*.tflite"))
