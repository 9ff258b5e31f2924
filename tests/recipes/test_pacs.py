"""Tests the PACS recipe: training without one domain, stored features, and comparisons."""

import numpy as np
import pytest
import typer

from keras_dml import zoo
from keras_dml._backend import keras
from keras_dml.zoo import schema
from zoo import augment, domain_figures, domains
from zoo.pacs_proto_sim import frozen, networks
from zoo.pacs_proto_sim import train as recipe

NAME = "pacs_proto_sim"
NAMES = list(domains.DOMAINS)
METHODS = tuple(recipe.HEADS)
EACH = 3  # pictures of a class in a domain; the last one is for validation


def made(of=tuple(NAMES)):
    """Builds pictures in seven colors, which get darker from domain to domain."""
    rng = np.random.default_rng(0)
    count = len(of) * 7 * EACH
    labels = np.tile(np.repeat(np.arange(7, dtype=np.int32), EACH), len(of))
    places = np.repeat(np.arange(len(of)), 7 * EACH)
    colors = rng.integers(60, 256, (7, 3)) // (1 + places[:, None, None] * 0.2)
    images = np.zeros((count, 227, 227, 3), np.uint8)
    images += colors[np.arange(count), labels][:, None, None].astype(np.uint8)
    return domains.DomainImages(images, labels, np.array(of)[places], np.arange(count) % EACH == 2)


def answers(of, seeds=3, pictures=100):
    """Builds results in which some of the first pictures are classified correctly.

    Returns:
        Dict from `(method, domain, seed)` to booleans, one for each picture. The function `of`
        takes a method, the index of a domain and a seed, and returns the number of correct
        pictures.
    """
    return {
        (method, domain, seed): np.arange(pictures) < of(method, place, seed)
        for method in METHODS
        for place, domain in enumerate(NAMES)
        for seed in range(seeds)
    }


@pytest.fixture
def network(monkeypatch, tmp_path):
    """Replaces EfficientNet-Lite0 by a small network and returns the path of its weights."""

    def small(shape, weights):
        image = keras.Input(shape, name="image")
        x = keras.layers.AveragePooling2D(56, name=networks.CUT)(image)
        x = keras.layers.Conv2D(6, 1, use_bias=False)(x)
        x = keras.layers.BatchNormalization()(x)
        model = keras.Model(image, keras.layers.GlobalAveragePooling2D()(x))
        if weights.stat().st_size:
            model.load_weights(weights)
        return model

    monkeypatch.setattr(networks, "efficientnet_lite0", small)
    monkeypatch.setattr(recipe, "HEAD_STEPS", 2)
    monkeypatch.setattr(recipe, "PER_CLASS", 2)
    weights = tmp_path / "network.weights.h5"
    weights.touch()
    small((224, 224, 3), weights).save_weights(weights)
    return weights


def test_a_crop_is_a_part_of_its_picture_at_the_size_asked_for(rng):
    ramp = np.broadcast_to(np.arange(0, 200, 2, dtype=np.uint8)[:, None], (100, 100))
    pictures = np.stack([ramp, ramp.T, np.full_like(ramp, 7)], axis=-1)[None].repeat(20, axis=0)
    parts = augment.crop(pictures, rng, 40, 0.25)
    assert parts.shape == (20, 40, 40, 3) and parts.dtype == np.uint8
    assert (parts[..., 2] == 7).all()
    heights, widths = (np.ptp(parts[..., k].astype(int), axis=(1, 2)) for k in (0, 1))
    assert (abs(heights - widths) <= 4).all()  # crops are square
    assert heights.min() >= 0.5 * 198 * 0.9 and heights.max() <= 198
    assert len({int(part.min()) for part in parts[..., 0]}) > 5  # crops come from different places


def test_a_whole_picture_is_its_own_crop_of_its_own_size(rng):
    pictures = rng.integers(0, 256, (3, 24, 24, 3), dtype=np.uint8)
    np.testing.assert_array_equal(augment.crop(pictures, rng, 24, 1.0), pictures)


def test_colors_change_within_bounds_and_some_are_lost(rng):
    pictures = rng.random((300, 4, 4, 3), dtype=np.float32)
    changed = augment.recolor(pictures, rng, 0.3, gray=0.2)
    assert changed.dtype == np.float32 and 0 <= changed.min() <= changed.max() <= 1
    gray = np.ptp(changed, axis=-1).max(axis=(1, 2)) < 1e-5
    assert 30 < gray.sum() < 90
    np.testing.assert_allclose(augment.recolor(pictures, rng, 0.0), pictures, rtol=0, atol=1e-6)


def test_every_picture_comes_once_with_the_side_of_the_builder(monkeypatch):
    def read(name):
        held_out = name.split("/")[1]
        splits = {"train": [], "validation": [], "test": []}
        for place, domain in enumerate(NAMES):
            for number in range(3):
                record = {
                    "file": f"{domain}/dog/{number}.jpg".encode(),
                    "image": np.full((227, 227, 3), 10 * place + number, np.uint8),
                    "label": 0,
                    "domain": place,
                }
                split = "validation" if number == 1 else "train"
                splits["test" if domain == held_out else split].append(record)
        return splits

    monkeypatch.setattr(domains.people, "read", read)
    known = domains.read()
    assert known.images[:, 0, 0, 0].tolist() == [10 * d + n for d in range(4) for n in range(3)]
    assert known.domains.tolist() == np.repeat(NAMES, 3).tolist()
    assert known.validates.tolist() == [False, True, False] * 4


@pytest.mark.parametrize("held_out", NAMES)
def test_nothing_of_the_domain_left_out_is_trained_on_or_chosen_by(held_out):
    known = made()
    train, validation, test = known.without(held_out)
    assert set(known.domains[test]) == {held_out}
    assert set(known.domains[train]) == set(known.domains[validation]) == set(NAMES) - {held_out}
    assert sorted([*train, *validation, *test]) == list(range(len(known.labels)))


def test_without_a_domain_left_out_all_train_but_those_that_validate():
    train, validation, test = made().without()
    assert len(train) == 4 * 7 * 2 and len(validation) == 4 * 7 and not len(test)


def test_the_middle_of_a_picture_is_what_a_model_takes():
    images = np.random.default_rng(0).integers(0, 256, (2, 227, 227, 3), dtype=np.uint8)
    middle = domains.central(images)
    assert middle.shape == (2, 224, 224, 3) and middle.dtype == np.float32
    np.testing.assert_allclose(middle, images[:, 1:225, 1:225] / 255, rtol=1e-6)


def test_answers_are_those_of_the_network_and_are_computed_once(network, tmp_path, monkeypatch):
    _, lower, upper = networks.pretrained(network)
    images = made().images[:5]
    found = domains.outputs(lower, upper, images, "a", tmp_path, copies=2)
    assert len(found.maps) == len(found.features) == 3
    maps = lower(domains.central(images))
    np.testing.assert_allclose(found.maps[0], maps, rtol=0, atol=1e-3)
    np.testing.assert_allclose(found.features[0], upper(maps), rtol=0, atol=1e-5)
    assert not np.array_equal(found.features[1], found.features[2])  # new augmentation
    with monkeypatch.context() as patch:
        patch.setattr(domains, "_write", None)
        again = domains.outputs(lower, upper, images, "a", tmp_path, copies=2)
        np.testing.assert_array_equal(again.maps[2], found.maps[2])
        with pytest.raises(TypeError):  # other weights need new features
            domains.outputs(lower, upper, images, "b", tmp_path, copies=2)


def test_batches_hold_every_class_from_all_domains_in_varied_copies():
    known = made()
    rows = known.without("sketch")[0]
    copies = [np.stack([np.arange(84), np.full(84, copy)], axis=1) for copy in range(4)]
    sampler = domains.batches(known, copies, rows=rows, per_class=3, steps=5, seed=0)
    seen = np.concatenate([sampler[i][0] for i in range(5)]).astype(int)
    labels = np.concatenate([sampler[i][1] for i in range(5)])
    assert np.isin(seen[:, 0], rows).all() and set(seen[:, 1]) == {1, 2, 3}
    np.testing.assert_array_equal(known.labels[seen[:, 0]], labels)
    for start in range(0, 105, 21):
        batch = slice(start, start + 21)
        for kind in range(7):
            members = seen[batch, 0][labels[batch] == kind]
            assert len(set(known.domains[members])) == 3


def test_the_table_has_means_over_seeds_and_the_average_of_the_domains():
    found = answers(lambda method, place, seed: 50 + 10 * place + seed)
    columns = domain_figures.table(found, METHODS)
    rows = list(zip(*columns.values(), strict=True))
    assert rows[0] == ("art_painting", "SIM", 0.51, round(0.01 / 3**0.5, 5), 3)
    assert rows[-1] == ("average", "softmax", 0.66, round(0.01 / 3**0.5, 5), 3)


def test_intervals_are_over_pictures_however_many_seeds_answer_them():
    one, many = (domain_figures.rows(answers(lambda *_: 60, seeds), METHODS)[0] for seeds in (2, 9))
    assert one["trials"] == many["trials"] == 400 and many["stderr"] == 0
    np.testing.assert_allclose(many["ci95"], one["ci95"], rtol=0, atol=1e-12)
    half = 1.96 * (0.6 * 0.4 / 400) ** 0.5
    np.testing.assert_allclose(one["ci95"], [0.6 - half, 0.6 + half], rtol=0, atol=0.006)


def test_what_sim_gains_is_paired_by_seed_and_by_picture():
    found = answers(lambda method, place, seed: 60 + 3 * (method == "SIM") + 10 * seed)
    *_, dol, softmax = domain_figures.rows(found, METHODS)
    assert (dol["head"], softmax["head"]) == ("sim less dol", "sim less softmax")
    for row in (dol, softmax):
        assert row["metric"] == "accuracy_gain" and row["value"] == pytest.approx(0.03)
        assert row["stderr"] == pytest.approx(0, abs=1e-12)
        assert 0.01 < row["ci95"][0] < 0.03 < row["ci95"][1] < 0.05
    tests = domain_figures.mcnemar(found, "SIM", "softmax")
    assert tests == "0.00049, 0.00049 and 0.00049"  # only SIM is right, 12 times


def test_who_is_ahead_is_said_only_beyond_the_interval_over_pictures():
    ahead = answers(lambda method, place, seed: 80 + 2 * (method == "softmax") + 5 * seed)
    assert domain_figures.finding(ahead, METHODS).startswith("softmax is ahead")
    level = answers(lambda method, place, seed: 80 + (method == "SIM") * (place == 0))
    assert domain_figures.finding(level, METHODS).startswith("SIM and DOL are level")


def test_the_picture_is_written_with_the_numbers_it_shows(tmp_path):
    found = answers(lambda method, place, seed: 70 + place + seed)
    paths = domain_figures.save(found, METHODS, tmp_path / "domains")
    assert [path.name for path in paths] == ["domains.png", "domains.svg", "domains.csv"]
    assert len(paths[-1].read_text().splitlines()) == 1 + 5 * len(METHODS)


def test_the_softmax_has_as_many_weights_as_prototypes_and_similarity():
    features = keras.Input((1280,))
    encoder = keras.Model(features, keras.layers.Identity()(features))
    ours, theirs = networks.classifier(encoder), networks.softmax(encoder)
    layer = ours.prototypes_layer
    count = layer.similarity.count_params() + np.asarray(layer.prototypes).size
    control = theirs.encoder.count_params() + theirs.aux_head.count_params()
    assert abs(control - count) < 0.002 * count


def test_without_the_weights_it_is_said_where_they_come_from(tmp_path):
    with pytest.raises(
        typer.BadParameter, match=r"none.weights.h5.*zoo/efficientnet_lite0.py.*--weights"
    ):
        networks.pretrained(tmp_path / "none.weights.h5")


def test_what_the_upper_part_learns_is_learned_by_the_whole_network(network):
    encoder, lower, upper = networks.pretrained(network)
    x = np.random.default_rng(0).random((2, 224, 224, 3), dtype=np.float32)
    before = np.asarray(encoder(x))
    norms = [layer for layer in encoder.layers if "normal" in layer.name]
    assert norms and not any(layer.trainable for layer in norms)
    assert len(upper.trainable_weights) == 1 and not lower.trainable_weights
    (kernel,) = upper.trainable_weights
    kernel.assign(2 * kernel)
    np.testing.assert_allclose(encoder(x), upper(lower(x)), rtol=0, atol=1e-6)
    np.testing.assert_allclose(encoder(x), 2 * before, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("method", networks.METHODS)
def test_training_moves_the_upper_part_and_the_heads_and_nothing_below(network, tmp_path, method):
    """Tests that training changes only the upper layers and the heads, and causes no warning."""
    known = made()
    _, lower, upper = networks.pretrained(network)
    outputs = domains.outputs(lower, upper, known.images, "a", tmp_path, copies=1)
    before = [np.asarray(weight) for weight in (*lower.weights, *upper.weights)]
    train, _, _ = known.without("photo")
    model = recipe.train_classifier(upper, method, known, outputs, train, 1, 0)
    learns = bool(model.prototypes_layer.similarity.trainable_weights)
    assert learns == (method == "sim")
    after = [np.asarray(weight) for weight in (*lower.weights, *upper.weights)]
    moved = [not np.array_equal(*pair) for pair in zip(before, after, strict=True)]
    assert sum(moved) == len(upper.trainable_weights) == 1
    layer = model.prototypes_layer
    assert np.asarray(layer.visits).tolist() == [recipe.HEAD_STEPS + 1] * 7
    z = networks.embed(model, outputs.maps[0], train)
    head = "sim" if method == "sim" else "dol"
    assert networks.right(model, z, known.labels[train], head).shape == train.shape


@pytest.mark.slow
def test_a_run_is_kept_and_not_repeated_and_the_published_model_can_be_read(
    network, tmp_path, monkeypatch
):
    few = {name: domains.DOMAINS[name] for name in ("photo", "sketch")}
    known = made(tuple(few))
    monkeypatch.setattr(domains, "DOMAINS", few)
    monkeypatch.setattr(domains, "read", lambda: known)
    monkeypatch.setattr(domains, "COPIES", 1)
    # every real fit takes seconds to compile
    monkeypatch.setattr(recipe, "fit", lambda *given, **options: 0.0)
    folder = tmp_path / NAME
    monkeypatch.setattr(recipe, "__file__", str(folder / "train.py"))
    given = {"weights": network, "steps": 1, "seeds": 2, "out": tmp_path / "run"}
    recipe.main(**given)
    with monkeypatch.context() as patch:
        patch.setattr(recipe, "train_without", None)
        recipe.main(**given, resume=True, publish_model=True)
        with pytest.raises(TypeError):  # a run with another number of steps
            recipe.main(**{**given, "steps": 2}, resume=True)
    monkeypatch.setenv("KERAS_DML_ZOO", str(tmp_path))
    card = zoo.card(NAME)
    assert not schema.problems(card)
    assert [row["head"] for row in card["figures"][:3]] == ["sim", "dol", "softmax"]
    assert card["figures"][-1]["metric"] == "accuracy_gain" and len(card["figures"]) == 3 * 3 + 2
    assert {path.name for path in (folder / "figures").iterdir()} == {
        f"domains.{kind}" for kind in ("png", "svg", "csv")
    }
    model = zoo.load(NAME)
    x, y = recipe.examples("test")
    assert len(y) == 14 and np.asarray(model.scores(x)).shape == (14, 7)
    assert model.class_names == list(domains.CLASSES)


def test_frozen_features_are_judged_on_pictures_that_were_not_fitted(rng):
    labels = np.tile(np.arange(3), 20)
    features = rng.normal(size=(3, 4))[labels] * 5 + rng.normal(size=(60, 4))
    known, asked = np.arange(30), np.arange(30, 60)
    assert frozen.right(features, labels, known, asked).all()
    of_others = labels.copy()
    of_others[asked] = (labels[asked] + 1) % 3  # the fit does not use these labels
    assert not frozen.right(features, of_others, known, asked).any()
