"""Tests of `keras-dml export` for galleries."""

import json
import pathlib

import numpy as np
import pytest

from keras_dml import gallery as galleries
from keras_dml.export import Export
from keras_dml.gallery import DeviceGallery, Gallery


@pytest.fixture
def family(zoo_folder, tmp_path):
    """Creates a gallery with an untrained model, and returns its path."""
    with Gallery(tmp_path / "family.db", "gait_qp_wl") as opened:
        opened.enroll("alice", [np.ones((20, 6)) * np.arange(20)[:, None]])
    return tmp_path / "family.db"


@pytest.fixture
def calls(monkeypatch):
    """Returns the arguments with which the exporter is called. A stub replaces the exporter."""
    asked = []

    def export_tflite(gallery, folder, quantization, *, far, representative):
        asked.append((gallery.path.name, folder, quantization, far, representative))
        model = Export(folder / "model.tflite", "tflite", quantization, 163_000, 0.001, 0.8, 512)
        return DeviceGallery(folder, 1, 1, 0.01, 9.5, 0.002, 170_000, model)

    monkeypatch.setattr(galleries, "export_tflite", export_tflite)
    return asked


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], (pathlib.Path("family_device"), "float16", None, None)),
        (["--out", "watch"], (pathlib.Path("watch"), "float16", None, None)),
        (["--quantization", "float32"], (pathlib.Path("family_device"), None, None, None)),
        (["--far", "0.05"], (pathlib.Path("family_device"), "float16", 0.05, None)),
    ],
)
def test_a_gallery_is_written_for_a_device(command, family, calls, options, expected):
    code, out, _ = command("export", family, "--to", "tflite", *options)
    assert code == 0 and calls == [("family.db", *expected)]
    assert "9.5 for FAR 1 %" in out and "within 0.2 % of the scores of the gallery" in out
    assert f"python {expected[0]}/decide.py RECORDING.npy" in " ".join(out.split())


@pytest.mark.slow
def test_json_contains_the_same_figures(command, family, calls):
    out = command("export", family, "--to", "tflite", "--json")[1]
    result = json.loads(out)
    assert result["path"] == "family_device" and result["model"]["bytes"] == 163_000
    assert (result["people"], result["far"], result["threshold"]) == (1, 0.01, 9.5)


@pytest.mark.slow
def test_options_that_do_not_apply_to_galleries_are_wrong_use(command, family, calls):
    code, _, err = command("export", family, "--to", "savedmodel")
    assert code == 2 and "--to tflite" in err
    code, _, err = command("export", "gait_qp_wl", "--to", "tflite", "--far", "0.01")
    assert code == 2 and "gallery" in err and calls == []
    code, _, err = command("export", "gait_qp_wl", "--to", "templates")
    assert code == 2 and "needs a gallery, but gait_qp_wl" in " ".join(err.split())
    for options in (["--far", "0.01"], ["--quantization", "float16"]):
        code, _, err = command("export", family, "--to", "templates", *options)
        assert code == 2 and options[0] in err


@pytest.mark.slow
def test_templates_are_written_to_a_file_named_after_the_gallery(
    command, family, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    assert command("export", family, "--to", "templates")[0] == 0
    with np.load("family_templates.npz") as file:
        assert file["people"].tolist() == ["alice"]


@pytest.mark.slow
def test_a_gallery_without_a_threshold_is_refused(command, family, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, out, err = command("export", family, "--to", "tflite")
    assert (code, out) == (2, "") and "Use `keras-dml calibrate`" in err
    assert "--threshold" not in err  # this command has no such option
    assert not (tmp_path / "family_device").exists()


@pytest.mark.slow
def test_a_folder_of_a_model_is_exported_by_its_path(command, zoo_folder, monkeypatch):
    from keras_dml import export

    asked = []

    def tflite(model, path, quantization, representative, **_):
        asked.append((model.count_params() > 0, path))
        return Export(pathlib.Path(path), "tflite", quantization, 1, 0.0, 1.0, 9)

    monkeypatch.setattr(export, "tflite", tflite)
    monkeypatch.chdir(zoo_folder.parent)
    assert command("export", "models/gait_qp_wl", "--to", "tflite")[0] == 0
    assert asked == [(True, pathlib.Path("gait_qp_wl.tflite"))]
