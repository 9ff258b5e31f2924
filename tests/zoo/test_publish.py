"""What a recipe leaves behind is whole, valid, and what a user loads."""

import json

import numpy as np
import pytest

from keras_dml import losses, models, zoo
from zoo.publish import publish, update, versions

FILES = {"README.md", "card.json", "golden.npz", "model.keras"}


@pytest.fixture(scope="module")
def model():
    model = models.sequence_encoder(3, knots=4, halvings=0)
    model.compile("adam", losses.WassersteinLoss())
    return model


@pytest.fixture
def recordings(rng):
    return [rng.normal(size=(steps, 3)) for steps in (7, 9)]


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_what_was_published_is_loaded_and_checked(tmp_path, model, card, recordings):
    written = publish(tmp_path / "tiny", model, card, recordings)
    assert names(tmp_path / "tiny") == FILES
    assert written == json.loads((tmp_path / "tiny" / "card.json").read_text())
    assert written["embedding"] == {"shape": [65, 6], "distance": "wasserstein", "p": 1}
    assert written["model"]["parameters"] == model.count_params()
    loaded = zoo.load(tmp_path / "tiny")
    assert not loaded.compiled  # the state of the optimizer would triple the file
    for ours, theirs in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_page_shows_the_curves(tmp_path, model, card, recordings):
    (tmp_path / "roc_det.png").write_bytes(b"a picture")
    for _ in range(2):
        publish(tmp_path / "tiny", model, card, recordings, curves=tmp_path / "roc_det.png")
        assert (tmp_path / "tiny" / "figures" / "roc_det.png").read_bytes() == b"a picture"
        page = (tmp_path / "tiny" / "README.md").read_text()
        assert page.count("![roc det](figures/roc_det.png)") == 1
        assert names(tmp_path / "tiny") == {*FILES, "figures"}


def test_a_card_that_lacks_something_changes_nothing(tmp_path, model, card, recordings):
    publish(tmp_path / "tiny", model, card, recordings)
    before = {path.name: path.read_bytes() for path in (tmp_path / "tiny").iterdir()}
    del card["limits"]
    with pytest.raises(ValueError, match="card.limits is missing"):
        publish(tmp_path / "tiny", model, card, recordings)
    assert {path.name: path.read_bytes() for path in (tmp_path / "tiny").iterdir()} == before


def test_name_and_folder_must_agree(tmp_path, model, card, recordings):
    with pytest.raises(ValueError, match="name is 'tiny' and its folder 'other'"):
        publish(tmp_path / "other", model, card, recordings)


def test_an_update_reaches_card_and_page(tmp_path, model, card, recordings):
    publish(tmp_path / "tiny", model, card, recordings)
    row = {"format": "tflite", "quantization": "dynamic", "bytes": 175056, "latency_ms": 0.8}
    update(tmp_path / "tiny", exports=[{**row, "drift": 0.012, "auc_change": -0.0004}])
    page = (tmp_path / "tiny" / "README.md").read_text()
    assert "| tflite | dynamic | 175,056 | 0.8 | 0.012 | -0.0004 |" in page
    assert zoo.check(tmp_path / "tiny") == 0
    with pytest.raises(ValueError, match=r"exports\[0\].bytes is missing"):
        update(tmp_path / "tiny", exports=[{"format": "tflite"}])


def test_the_page_says_what_the_card_says(tiny_zoo):
    page = (tiny_zoo / "tiny" / "README.md").read_text()
    for line in (
        "# tiny",
        'zoo.load("tiny")',
        "At least 7 steps at 100 Hz, float32. Channels, in order: X (g), Y (g), Z (deg/s).",
        "65 × 6 numbers a recording, compared by the wasserstein distance, p = 1.",
        "| verification | 1 | – | EER | 2.1 % ± 0.3 | – | 1,260 |",
        "| 1 % | 3.25 | 0.5 to 2 % | 1,260 |",
        "CC0; the weights too",
        "Trained on 2 people (ann, bob). Tested on 1 people (eve).",
        "- It was never trained.",
        "python -m zoo.tiny.train",
    ):
        assert line in page, line


def test_versions_name_what_a_model_depends_on():
    assert {"python", "keras", "numpy"} <= set(versions())
