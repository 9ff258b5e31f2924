"""Tests the CIFAR-10 recipe: augmentation, figures from a part of the data set, and a run."""

import json

import numpy as np
import pytest
import typer

from keras_dml import zoo
from keras_dml._backend import keras
from keras_dml.zoo import schema
from zoo import augment, classifiers
from zoo.cifar10_proto_sim import train as recipe

NAME = "cifar10_proto_sim"


def small():
    """Builds a small encoder that compiles quickly."""
    image = keras.Input((32, 32, 3))
    x = keras.layers.Conv2D(6, 4, strides=4)(image)
    return keras.Model(image, keras.layers.GlobalAveragePooling2D()(x))


@pytest.fixture
def photographs(monkeypatch):
    """Replaces the images of CIFAR-10 by noisy images of ten colors. The encoder is small, and an
    epoch has two steps.
    """
    rng = np.random.default_rng(0)
    colors = rng.random((10, 1, 1, 3))

    def read(split):
        labels = np.repeat(np.arange(10, dtype=np.int32), 8)
        noise = rng.normal(scale=0.05, size=(len(labels), 32, 32, 3))
        return np.clip(colors[labels] + noise, 0, 1).astype(np.float32), labels

    monkeypatch.setattr(recipe.images, "cifar10", read)
    monkeypatch.setattr(classifiers, "STEPS_PER_EPOCH", 2)
    monkeypatch.setattr(recipe, "encoder", small)
    monkeypatch.setattr(recipe.tasks, "PROBES", 40)


def test_an_image_is_mirrored_or_not_and_about_half_are(rng):
    images = rng.random((400, 4, 5, 3), dtype=np.float32)
    turned = augment.mirror(images, rng)
    same = (turned == images).all(axis=(1, 2, 3))
    np.testing.assert_array_equal(turned[~same], images[~same, :, ::-1])
    assert turned.dtype == images.dtype and 150 < same.sum() < 250


def test_varied_photographs_keep_their_range_and_differ_from_batch_to_batch(rng):
    batch = rng.random((6, 32, 32, 3), dtype=np.float32)
    first, second = recipe.vary(batch, rng), recipe.vary(batch, rng)
    assert first.shape == batch.shape and 0 <= first.min() <= first.max() <= 1
    assert not np.array_equal(first, second)


def test_a_part_of_the_set_is_told_and_the_whole_set_is_not_called_a_part():
    counts = {"train": 10_000, "test": 2_000}
    part = " ".join(recipe.about(counts)["limits"]).format(**counts, passes=36)
    assert "10,000 of CIFAR-10's 50,000" in part and "cannot be compared with published" in part
    assert "lossy" not in " ".join(recipe.about(recipe.OFFICIAL)["limits"])
    assert recipe.about(recipe.OFFICIAL)["headline"]["trials"] == "the test images"
    assert "a fifth of the official test images" in recipe.about(counts)["headline"]["trials"]


def test_a_square_of_every_photograph_is_lost(rng):
    images = rng.random((300, 32, 24, 3), dtype=np.float32)
    erased = augment.erase(images, rng, 12)
    lost = (erased != images).all(axis=-1)
    assert erased.dtype == images.dtype and (erased[lost] == 0.5).all()
    np.testing.assert_array_equal(erased[~lost], images[~lost])
    sizes = lost.sum(axis=(1, 2))
    assert sizes.max() == 12 * 12 and sizes.min() >= 6 * 6 and len(set(sizes)) > 20
    boxes = lost.any(axis=2).sum(axis=1) * lost.any(axis=1).sum(axis=1)
    np.testing.assert_array_equal(boxes, sizes)  # each erased region is one rectangle


def test_the_softmax_has_as_many_weights_as_prototypes_and_similarity():
    encoder = recipe.encoder()
    layer = recipe.classifier(encoder).prototypes_layer
    ours = layer.similarity.count_params() + np.asarray(layer.prototypes).size
    control = recipe.softmax(encoder)
    theirs = control.encoder.count_params() - encoder.count_params()
    theirs += control.aux_head.count_params()
    assert abs(theirs - ours) < 100
    assert not control.prototypes_layer.similarity.trainable_weights


def test_settings_are_chosen_on_training_images_that_are_held_out(photographs, tmp_path):
    x, y = recipe.examples("train")
    (known, labels), (held_out, others) = recipe.split(x, y, 20)
    assert len(known) == len(labels) == 60 and len(held_out) == len(others) == 20
    everything = {image.tobytes() for image in (*known, *held_out)}
    assert everything == {image.tobytes() for image in x}
    with pytest.raises(typer.BadParameter, match="--held-out"):
        recipe.main(steps=2, out=tmp_path, held_out=20, publish_model=True)


@pytest.mark.slow
def test_a_run_goes_on_where_it_stopped_and_its_card_and_model_can_be_read(
    photographs, tmp_path, monkeypatch
):
    folder = tmp_path / NAME
    monkeypatch.setattr(recipe, "__file__", str(folder / "train.py"))
    out = tmp_path / "run"
    recipe.main(steps=2, out=out)
    progress = out / "model" / "checkpoint" / "progress.json"
    before = json.loads(progress.read_text())
    recipe.main(steps=4, out=out, resume=True, publish_model=True)
    after = json.loads(progress.read_text())
    assert after["minutes"] > before["minutes"]
    assert len(before["history"]) == 1 and after["history"][:1] == before["history"]
    monkeypatch.setenv("KERAS_DML_ZOO", str(tmp_path))
    card = zoo.card(NAME)
    assert not schema.problems(card)
    named = [row["head"] for row in card["figures"] if row["protocol"] == "classification"]
    assert named == ["sim", "dol", "softmax"]
    assert [one["name"] for one in card["baselines"]][-1] == "softmax"
    assert [path.name for path in (folder / "controls").iterdir()] == ["softmax.keras"]
    assert card["figures"][0]["trials"] == 80
    verified = [row for row in card["figures"] if row["protocol"] == "verification"]
    assert {row["trials"] for row in verified} == {40 * 40}
    assert "80 of CIFAR-10's" in card["limits"][0]
    model = zoo.load(NAME)
    x, _ = recipe.examples("test")
    assert model.class_names[0] == "airplane" and np.asarray(model(x)).shape == (80, 10)
