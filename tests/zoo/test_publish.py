"""Tests that the published files of a recipe are complete, valid and loadable."""

import json

import numpy as np
import pytest

from keras_dml import losses, models, zoo
from keras_dml.training import page, publish, update, versions
from keras_dml.zoo import headline
from tests.zoo.cards import IMAGES
from zoo import tables

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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_page_shows_the_curves(tmp_path, model, card, recordings):
    (tmp_path / "roc_det.png").write_bytes(b"a picture")
    for _ in range(2):
        publish(tmp_path / "tiny", model, card, recordings, curves=tmp_path / "roc_det.png")
        assert (tmp_path / "tiny" / "figures" / "roc_det.png").read_bytes() == b"a picture"
        page = (tmp_path / "tiny" / "README.md").read_text()
        assert page.count("![roc det](figures/roc_det.png)") == 1
        assert names(tmp_path / "tiny") == {*FILES, "figures"}


@pytest.mark.slow
def test_a_card_that_lacks_something_changes_nothing(tmp_path, model, card, recordings):
    publish(tmp_path / "tiny", model, card, recordings)
    before = {path.name: path.read_bytes() for path in (tmp_path / "tiny").iterdir()}
    del card["limits"]
    with pytest.raises(ValueError, match="card.limits is missing"):
        publish(tmp_path / "tiny", model, card, recordings)
    assert {path.name: path.read_bytes() for path in (tmp_path / "tiny").iterdir()} == before


@pytest.mark.parametrize("name", sorted([*FILES, "figures/roc_det.png"]))
def test_what_is_no_file_is_left_before_the_model_is_looked_at(tmp_path, card, recordings, name):
    (tmp_path / "roc_det.png").write_bytes(b"a picture")
    (tmp_path / "tiny" / name).mkdir(parents=True)
    (tmp_path / "tiny" / name / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=f"{name}' is a folder, so it was not changed"):
        publish(tmp_path / "tiny", None, card, recordings, curves=tmp_path / "roc_det.png")
    assert (tmp_path / "tiny" / name / "notes.txt").read_text() == "mine"


@pytest.mark.slow
def test_an_interrupted_publication_leaves_the_old_one(
    tmp_path, model, card, recordings, monkeypatch
):
    def interrupted(_):
        raise KeyboardInterrupt

    publish(tmp_path / "tiny", model, card, recordings)
    before = {path.name: path.read_bytes() for path in (tmp_path / "tiny").iterdir()}
    monkeypatch.setattr("keras_dml.zoo.reading.check", interrupted)
    with pytest.raises(KeyboardInterrupt):
        publish(tmp_path / "tiny", model, card, recordings)
    assert {path.name: path.read_bytes() for path in (tmp_path / "tiny").iterdir()} == before


@pytest.mark.slow
def test_name_and_folder_must_agree(tmp_path, model, card, recordings):
    with pytest.raises(ValueError, match="'tiny'.* 'other'"):
        publish(tmp_path / "other", model, card, recordings)


@pytest.mark.slow
def test_an_update_reaches_card_and_page(tmp_path, model, card, recordings):
    publish(tmp_path / "tiny", model, card, recordings)
    row = {"format": "tflite", "quantization": "dynamic", "bytes": 175056, "latency_ms": 0.8}
    update(tmp_path / "tiny", exports=[{**row, "drift": 0.012, "auc_change": -0.0004}])
    page = (tmp_path / "tiny" / "README.md").read_text()
    assert "| tflite | dynamic | 175,056 | 0.8 | 0.012 | -0.0004 |" in page
    assert zoo.check(tmp_path / "tiny") == 0
    with pytest.raises(ValueError, match=r"exports\[0\].bytes is missing"):
        update(tmp_path / "tiny", exports=[{"format": "tflite"}])


@pytest.mark.slow
def test_the_page_has_the_content_of_the_card(tiny_zoo):
    page = (tiny_zoo / "tiny" / "README.md").read_text()
    for line in (
        "# tiny",
        'zoo.load("tiny")',
        "The input has at least 7 time steps at 100 Hz, as float32.",
        "The channels have this order: X (g), Y (g), Z (deg/s).",
        "65 × 6 numbers per recording. Embeddings are compared by the distance `wasserstein` with "
        "`p = 1`.",
        "| verification | 1 | – | EER | 2.1 % ± 0.3 | – | 1,260 |",
        "The score of a recording is its smallest distance to the enrolled recordings.",
        "The same threshold is used for all 72 probes of 36 people.",
        "| tiny | 0.9876 [0.9800 to 0.9900] | 4.3 % [2.1 to 6.0] | – |",
        '**The model does not beat the method "mean step".** This method needs no network and '
        "uses its length ",
        "## Further figures",
        "| 3.25 | 1 % | 0.5 to 2.0 % | 90.0 % [85.0 to 95.0] | 3 | 36 | 1,260 |",
        "At the threshold for a FAR of 1 %, the FAR between sensor is 2.0 % (95 % interval: 1.0 to "
        "3.0 %, 600 trials).",
        "CC0; the weights too",
        "The model was trained on 2 people (ann, bob). Tested on 1 people (eve).",
        "- It was never trained.",
        "python -m zoo.tiny.train",
        "This command made the model file in 0.1 minutes on 2026-11-21, with seed 0.",
    ):
        assert line in page, line


@pytest.fixture(scope="module")
def published(pictures, tmp_path_factory):
    """Returns the folder of a published classifier of images."""
    model, x, _ = pictures
    folder = tmp_path_factory.mktemp("zoo") / "pictures"
    publish(folder, model, IMAGES, list(x[:2]))
    return folder


@pytest.mark.slow
def test_a_classifier_is_published_with_its_prototypes_and_names(published, pictures):
    model, x, _ = pictures
    loaded = zoo.load(published)
    np.testing.assert_array_equal(loaded.prototypes, model.prototypes)
    np.testing.assert_allclose(loaded(x), model(x), rtol=0, atol=1e-6)
    assert loaded.class_names == ["left", "right", "none"] and not loaded.compiled
    assert zoo.check(published) <= 1e-5
    card = json.loads((published / "card.json").read_text())
    assert card["embedding"] == {
        "shape": [5],
        "distance": "learned_similarity",
        "symmetry": "none",
    }


@pytest.mark.slow
def test_classes_added_after_training_are_published_too(pictures, images_card, tmp_path):
    model, x, _ = pictures
    grown = model.__class__.from_config(model.get_config())
    grown.set_weights(model.get_weights())
    grown.add_classes(["dark"], x[:3], [0, 0, 0])
    publish(tmp_path / "pictures", grown, images_card, list(x[:1]))
    loaded = zoo.load(tmp_path / "pictures")
    assert loaded.class_names[-1] == "dark"
    np.testing.assert_allclose(loaded(x), grown(x), rtol=0, atol=1e-6)


@pytest.mark.slow
def test_the_page_of_a_classifier_has_the_content_of_its_card(published):
    exports = {"format": "tflite", "quantization": "int8", "bytes": 71_000, "latency_ms": 0.1}
    update(published, exports=[{**exports, "drift": 0.01, "accuracy_change": -0.0012}])
    page = (published / "README.md").read_text()
    for line in (
        "model.classify(images)]      # (count, 8, 8, 1)",
        'model.add_classes(["new"], few, [0] * len(few))',
        "model.similarity(model.embed(probes), model.embed(enrolled))",
        "The input has 8 × 8 pixels, as float32. The only channel is gray. Values are in [0, 1].",
        "An embedding has 5 numbers per image. Embeddings are compared by a learned similarity "
        "with `symmetry = none`. A higher similarity means that two recordings are more similar.",
        "| protocol | n | setting | metric | value ± standard error | trials |",
        "| classification | 1 | – | accuracy | 99.31 % ± 0.08 | 10,000 |",
        "| robustness | 1 | pgd-40 at 0.3, sim head | accuracy | 95.1 % ± 0.2 | 10,000 |",
        "| few shot | 1 | 20-way 1-shot | accuracy | 96.3 % ± 0.1 | 600 |",
        "The model was trained and tested on 3 classes (left, right, none). Other images of the "
        "same classes.",
        "| format | numbers | bytes | latency (ms) | drift | change in accuracy |",
        "| tflite | int8 | 71,000 | 0.1 | 0.01 | -0.0012 |",
    ):
        assert line in page, line
    assert "## Thresholds" not in page


def test_a_page_of_audio_embeds_a_list_of_recordings(published):
    card = json.loads((published / "card.json").read_text())
    card["input"] = {
        "channels": ["sound"],
        "units": ["[-1, 1]"],
        "rate_hz": 16000,
        "dtype": "float32",
        "length": [2640, None],
    }
    text = page.render(card)
    assert "z = keras_dml.embed(model, recordings)      # list of (time, 1) arrays" in text
    assert "at least 2640 time steps at 16000 Hz, as float32." in text
    assert "The only channel is sound. Values are in [-1, 1]." in text


def test_a_page_gives_the_range_of_folds_and_intervals(tiny_zoo):
    card = json.loads((tiny_zoo / "tiny" / "card.json").read_text())
    rows = card["figures"]
    rows[0]["folds"] = [0.01, 0.034, 0.02]
    rows[1]["ci95"] = [0.9, 0.98]
    text = page.render(card)
    assert "| EER | 2.1 % ± 0.3 | 1.0 to 3.4 % |" in text
    assert "| accuracy | 95.0 % [90.0 to 98.0] | – |" in text


def test_test_classes_that_differ_from_training_are_listed(images_card):
    images_card["data"] |= {"test_classes": [str(i) for i in range(20)], "split": "New alphabets."}
    known = page._data(images_card)
    assert known.endswith(
        "trained on 3 classes (left, right, none) and tested on 20 classes (named in `card.json`). "
        "New alphabets."
    )


def test_tables_of_models_have_headline_and_the_best_of_each_kind_of_baseline(card, images_card):
    columns, _, row = tables.of_people([card, images_card]).splitlines()
    assert row == (
        "| [`tiny`](zoo/tiny/README.md) | 4.3 % [2.1 to 6.0] | – | "
        "**mean step: 4.0 % [2.0 to 5.0]** | – | 36, one sitting | none stated | ask |"
    )
    columns, _, row = tables.of_images([card, images_card]).splitlines()
    assert row == (
        "| [`pictures`](zoo/pictures/README.md) | 99.31 % [99.10 to 99.45] | the test images | "
        "nearest neighbor: 96.9 % [96.5 to 97.2] | **softmax: 99.50 % [99.30 to 99.70]** | 10,000 "
        "| none stated | ask |"
    )
    columns, _, *rows = tables.of_unbeaten([card, images_card]).splitlines()
    assert rows == [
        "| [`tiny`](tiny/README.md) | mean step | no network | EER 4.0 % [2.0 to 5.0] | 0.3 "
        "points [-0.1 to 1.0] |",
        "| [`pictures`](pictures/README.md) | softmax | instead | accuracy 99.50 % [99.30 to "
        "99.70] | -0.2 points [-0.4 to 0.1] |",
    ]
    card["baselines"][0]["kind"] = "other probes"
    assert headline.verdict(card) == "" and "mean step" not in tables.of_unbeaten([card])
    columns, _, *rows = tables.of_all([card, images_card]).splitlines()
    assert "| EER 4.3 % [2.1 to 6.0] |" in rows[0] and "| 36 people |" in rows[0]
    assert "| accuracy 99.31 %" in rows[1] and "`python -m zoo.measure pictures`" in rows[1]


def test_versions_name_what_a_model_depends_on():
    assert {"python", "keras", "numpy"} <= set(versions())
