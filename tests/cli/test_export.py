"""Tests of `keras-dml export` for models."""

import dataclasses
import importlib.util
import json
import pathlib

import keras
import numpy as np
import pytest
import typer

from keras_dml import export
from keras_dml._messages import Message
from keras_dml.cli import _export_formats, _export_gallery
from keras_dml.cli._export_formats import (
    GALLERY_FORMATS,
    MODEL_FORMATS,
    Format,
    FormatOptions,
)
from keras_dml.cli._options import Reading
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

    def bundle(model, folder, **options):
        asked.append(("bundle", folder, options))
        return Export(pathlib.Path(folder), "tflite", options["quantization"], 9_000, 0.0, 0.6, 9)

    def stream(model, path, **options):
        asked.append(("stream", path, options))
        return Export(pathlib.Path(path), "tflite", options["quantization"], 9_000, 0.0, 0.6, 64)

    def microcontroller(model, folder, *, steps, tflm):
        asked.append(("microcontroller", folder, steps, tflm))
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

    monkeypatch.setattr(export, "bundle", bundle)
    monkeypatch.setattr(export, "stream", stream)
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
    folder = pathlib.Path("gait_qp_wl_microcontroller")
    assert code == 0 and calls == [("microcontroller", folder, 300, False)]
    for figure in ("141,208 bytes", "12,544 bytes", "4,608 bytes", "9,388,032", "4.6 %"):
        assert figure in out
    for option in (["--quantization", "int8"], ["--gallery-size", "4"]):
        code, _, err = command(*words, *option)
        assert code == 2 and option[0] in err and len(calls) == 1
    assert command(*words, "--tflm")[0] == 0 and calls[1:] == [
        ("microcontroller", folder, None, True)
    ]


def test_a_stream_takes_a_window_and_a_block(command, zoo_folder, calls):
    words = ("export", "gait_qp_wl", "--to", "stream")
    for options in ((), ("--window", 512), ("--block", 64)):
        code, _, err = command(*words, *options)
        assert code == 2 and "--to stream needs --" in err and calls == []
    words += ("--window", 512, "--block", 64)
    code, out, _ = command(*words)
    sizes = {"window": 512, "block": 64, "quantization": None, "gallery": None}
    assert code == 0 and calls == [("stream", pathlib.Path("gait_qp_wl_stream.tflite"), sizes)]
    assert "step(signal, state), read(state)" in out and "64 steps" in out
    options = ("--quantization", "float16", "--gallery-size", 5, "--json")
    code, out, _ = command(*words, *options)
    assert code == 0 and calls[1][2] == {**sizes, "quantization": "float16", "gallery": 5}
    assert json.loads(out)["path"] == "gait_qp_wl_stream.tflite"
    code, _, err = command(*words, "--quantization", "dynamic")
    assert code == 2 and "float16" in err and len(calls) == 2


def write_people(folder, counts):
    """Writes recordings of people as `PERSON/NUMBER.npy`."""
    rng = np.random.default_rng(1)
    for person, steps in counts.items():
        (folder / person).mkdir(parents=True)
        for i, count in enumerate(steps):
            np.save(folder / person / f"{i}.npy", rng.normal(size=(count, 6)).astype(np.float32))
    (folder / person / "notes.txt").write_text("fine weather")


def test_a_bundle_takes_recordings_of_people(command, zoo_folder, calls, tmp_path):
    folder = tmp_path / "people"
    write_people(folder, {"anna": [40, 30], "ben": [70, 5]})
    words = ("export", "gait_qp_wl", "--to", "bundle")
    code, _, err = command(*words)
    assert code == 2 and "--to bundle needs --steps" in err and calls == []
    words += ("--steps", 30)
    for options in (("int8",), ("dynamic",)):
        code, _, err = command(*words, "--quantization", *options)
        assert code == 2 and options[0] in err and calls == []
    assert "--recordings FOLDER" in err
    code, _, err = command(*words, "--recordings", tmp_path / "none")
    assert code == 2 and "none" in err and "load gait_qp_wl" not in err
    assert command(*words)[0] == 0
    code, out, err = command(*words, "--quantization", "dynamic", "--recordings", folder)
    assert code == 0 and "check.py" in out
    (first, second) = calls
    assert first == (
        "bundle",
        pathlib.Path("gait_qp_wl_bundle"),
        {"steps": 30, "quantization": None, "recordings": None, "people": None},
    )
    given = second[2]
    assert given["quantization"] == "dynamic" and given["steps"] == 30
    assert [len(each) for each in given["recordings"]] == [30, 10, 30, 30, 30, 10]
    assert given["people"] == 3 * ["anna"] + 3 * ["ben"]
    expected = np.load(folder / "ben" / "0.npy")
    np.testing.assert_array_equal(np.concatenate(given["recordings"][3:6]), expected)


def test_reading_options_apply_to_the_recordings_of_a_bundle(command, zoo_folder, calls, tmp_path):
    folder = tmp_path / "people"
    write_people(folder, {"anna": [30]})
    words = ("export", "gait_qp_wl", "--to", "bundle", "--steps", 30, "--recordings", folder)
    assert command(*words, "--channels", "6,5,4,3,2,1")[0] == 0
    ((_, _, given),) = calls
    expected = np.load(folder / "anna" / "0.npy")[:, ::-1]
    np.testing.assert_array_equal(given["recordings"][0], expected)


@pytest.mark.parametrize("field", dataclasses.fields(FormatOptions().reading))
def test_reading_options_need_recordings(field):
    options = FormatOptions(steps=9, reading=Reading(**{field.name: "another"}))
    with pytest.raises(typer.BadParameter, match="needs --recordings") as error:
        _export_formats.check("NAME", Format.bundle, options, False)
    assert f"--{field.name.replace('_', '-')} " in str(error.value)
    options = dataclasses.replace(options, recordings="people")
    _export_formats.check("NAME", Format.bundle, options, False)


def test_an_option_of_another_format_is_one_error():
    """Tests each option with each format that does not accept it, for a model and a gallery."""
    options, refused = _flat(FormatOptions), 0
    for is_gallery, formats in ((False, MODEL_FORMATS), (True, GALLERY_FORMATS)):
        for to, accepted in formats.items():
            assert {*accepted.options, *accepted.required} <= {*options}
            for name in {*options} - {*accepted.options}:
                option = f"--{name.replace('_', '-')}"
                with pytest.raises(typer.BadParameter, match=option) as error:
                    _export_formats.check("NAME", to, _replaced(name, options), is_gallery)
                assert "does not apply" in str(error.value) or "needs a" in str(error.value)
                refused += 1
    assert refused > 100


def _flat(options):
    """Returns the names of the fields of a dataclass and of the dataclasses in it, each with the
    name of the field that contains it, or None."""
    names = {}
    for field in dataclasses.fields(options):
        if dataclasses.is_dataclass(field.default):
            names |= dict.fromkeys(_flat(type(field.default)), field.name)
        else:
            names[field.name] = None
    return names


def _replaced(name, options):
    """Returns `FormatOptions` with another value of one option."""
    values = FormatOptions()
    outer = options[name]
    if outer is None:
        return dataclasses.replace(values, **{name: "another"})
    inner = dataclasses.replace(getattr(values, outer), **{name: "another"})
    return dataclasses.replace(values, **{outer: inner})


def test_a_format_of_models_or_galleries_is_named(command, zoo_folder, calls, tmp_path):
    gallery = tmp_path / "family.db"
    gallery.write_bytes(_export_gallery.SQLITE)
    for name, to in ((gallery, "onnx"), (gallery, "bundle"), ("gait_qp_wl", "templates")):
        code, _, err = command("export", name, "--to", to)
        assert code == 2 and f"--to {to} needs a" in err and calls == []


def test_a_gallery_is_not_a_c_library(command, calls, tmp_path):
    gallery = tmp_path / "family.db"
    gallery.write_bytes(_export_gallery.SQLITE)
    code, _, err = command("export", gallery, "--to", "microcontroller")
    assert code == 2 and "needs a model" in err and calls == []


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
    assert "--quantization does not apply" in err and "--to tflite" in err


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


@pytest.mark.parametrize("kind", ["tflite", "savedmodel", "onnx", "bundle", "stream"])
@pytest.mark.parametrize("out", ["thesis/", "thesis", ".", "/", ""])
def test_an_output_folder_with_other_files_is_refused_first(command, tmp_path, kind, out):
    """The name of the model is wrong too, but the folder is checked first."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.txt").write_text("years")
    place = f"{tmp_path}/{out}" if out not in ("/", "") else out
    sizes = {"bundle": ("--steps", 9), "stream": ("--window", 8, "--block", 4)}.get(kind, ())
    code, _, messages = command("export", "no_such_model", "--to", kind, *sizes, "--out", place)
    assert code == 2 and "no_such_model" not in messages
    assert "was not changed" in messages or "must end in a name" in messages
    assert (tmp_path / "thesis" / "chapter1.txt").read_text() == "years"


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="of the other backends")
def test_the_error_on_another_backend_says_how_to_export(command, zoo_folder, tmp_path):
    out = tmp_path / "gait.tflite"
    code, _, messages = command("export", "gait_qp_wl", "--to", "tflite", "--out", out)
    assert code == 2 and "KERAS_BACKEND=tensorflow" in messages
    assert not list(tmp_path.glob("*.tflite"))
