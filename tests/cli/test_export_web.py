"""Tests of `keras-dml export --to web`."""

import json
import pathlib

import pytest

from keras_dml import gallery as galleries
from keras_dml.export import Export
from keras_dml.gallery import Gallery, WebSite
from keras_dml.gallery.calibration import provisional
from tests.zoo.cards import CARD


@pytest.fixture
def calls(monkeypatch):
    """Returns the arguments with which the exporter is called. A stub replaces the exporter."""
    asked = []

    def export_web(source, folder, *, far, steps, packages):
        name = source.path.name if isinstance(source, Gallery) else source
        asked.append((name, folder, far, steps, packages))
        model = Export(folder / "model.tflite", "tflite", None, 163_000, 0.001, 0.8, 512)
        threshold = next(iter(provisional(CARD).values()))
        return WebSite(folder, {"family": model}, {"family": threshold}, 9_800_000)

    monkeypatch.setattr(galleries, "export_web", export_web)
    return asked


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], (pathlib.Path("gait_qp_wl_web"), None, None, None)),
        (
            ["--out", "site", "--far", "0.05", "--steps", "512", "--npm-packages", "npm"],
            (pathlib.Path("site"), 0.05, 512, "npm"),
        ),
    ],
)
def test_a_model_is_written_as_a_web_page(command, calls, options, expected):
    code, out, _ = command("export", "gait_qp_wl", "--to", "web", *options)
    assert code == 0 and calls == [("gait_qp_wl", *expected)]
    text = " ".join(out.split())
    assert "9.8 MB" in text and "up to 512 steps" in text and "provisional" in text
    assert f"python -m http.server --directory {expected[0]}" in text


def test_json_contains_the_threshold(command, calls):
    result = json.loads(command("export", "gait_qp_wl", "--to", "web", "--json")[1])
    threshold = next(iter(provisional(CARD).values()))
    assert (result["path"], result["steps"], result["far"], result["threshold"]) == (
        *("gait_qp_wl_web", 512),
        *(threshold.far, threshold.value),
    )


def test_options_that_do_not_apply_to_web_pages_are_wrong_use(command, calls, tmp_path):
    cases = [
        (["--to", "web", "--quantization", "float16"], "--quantization"),
        (["--to", "web", "--gallery-size", "8"], "--gallery-size"),
        (["--to", "web", "--key", "family.key"], "gallery"),
        (["--to", "tflite", "--npm-packages", "npm"], "--to web"),
        (["--to", "savedmodel", "--steps", "64"], "--to web"),
    ]
    for options, word in cases:
        code, out, err = command("export", "gait_qp_wl", *options)
        assert (code, out) == (2, "") and word in err, options
    assert calls == []


@pytest.mark.slow
def test_a_gallery_is_written_without_npm_only_from_a_folder(
    command, zoo_folder, tmp_path, monkeypatch
):
    Gallery(tmp_path / "family.db", "gait_qp_wl").close()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    code, out, err = command("export", "family.db", "--to", "web")
    assert (code, out) == (2, "") and "--npm-packages" in err and "{" not in err
    assert not (tmp_path / "family_web").exists()
