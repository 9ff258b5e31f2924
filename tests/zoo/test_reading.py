"""Tests that a model is refused if its file differs from the file that the card describes."""

import json
import zipfile

import numpy as np
import pytest

from keras_dml import zoo
from keras_dml._backend import keras
from keras_dml.layers import MaskedConv1D, SequencePooling
from keras_dml.zoo import reading


@pytest.fixture
def file(zoo_folder):
    return zoo_folder / "tiny" / "model.keras"


def edit_card(file, part, key, value):
    path = file.with_name("card.json")
    card = json.loads(path.read_text())
    card[part][key] = value
    path.write_text(json.dumps(card))


def flip_byte(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)


def own_model():
    signal = keras.Input((None, 2))
    return keras.Model(signal, SequencePooling("mean")(MaskedConv1D(3, 3)(signal)))


@pytest.mark.slow
def test_a_name_and_a_path_give_the_same_plain_model(file):
    named, by_path, by_folder = zoo.load("tiny"), zoo.load(file), zoo.load(f"{file.parent}")
    assert isinstance(named, keras.Model)
    assert not named.compiled
    for other in (by_path, by_folder):
        for ours, theirs in zip(named.get_weights(), other.get_weights(), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_the_golden_embedding_is_computed_anew(file):
    tolerance = zoo.card("tiny")["golden"]["atol"]
    assert 0 <= zoo.check("tiny") <= tolerance


def test_another_golden_embedding_is_refused(file):
    path = file.with_name("golden.npz")
    with np.load(path) as golden:
        arrays = {**golden, "embedding": golden["embedding"] + 1e-3}
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="does not reproduce its golden embedding.*0.001"):
        zoo.check("tiny")


def test_a_damaged_golden_file_is_refused(file):
    file.with_name("golden.npz").write_bytes(b"PK\x03\x04 cut")
    with pytest.raises(ValueError, match="not a golden file"):
        zoo.check("tiny")


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1.0, 1e300])
def test_a_tolerance_that_another_model_would_meet_is_refused(file, tolerance):
    edit_card(file, "golden", "atol", tolerance)
    with pytest.raises(ValueError, match="deviation of 1.*another model would pass"):
        zoo.check("tiny")


@pytest.mark.parametrize(
    "arrays",
    [
        {"embedding": np.zeros(3)},
        {"recording_0": np.array(["a"]), "embedding": np.zeros(3)},
        {"recording_0": np.zeros((9, 3)), "embedding": np.zeros(3, complex)},
        {"recording_0": np.zeros((9, 3)), "embedding": np.zeros(20_000_000)},
    ],
)
def test_a_golden_file_of_something_else_is_refused(file, arrays):
    np.savez_compressed(file.with_name("golden.npz"), **arrays)
    with pytest.raises(ValueError, match=r"golden\.npz is not a golden file"):
        zoo.check("tiny")


def test_a_truncated_model_file_is_refused(file):
    file.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(ValueError, match=r"model\.keras is not the file that its card describes"):
        zoo.load("tiny")


def test_a_corrupted_model_file_is_refused_before_keras_reads_it(file, monkeypatch):
    flip_byte(file, 5000)
    monkeypatch.setattr(reading, "_read", lambda file: pytest.fail("it was read"))
    with pytest.raises(ValueError, match="SHA-256.*damaged or truncated, or it was replaced"):
        zoo.load("tiny")


def test_a_missing_model_file_is_refused(file):
    file.unlink()
    with pytest.raises(FileNotFoundError, match=r"model\.keras, which does not exist"):
        zoo.load("tiny")


@pytest.mark.slow
def test_another_number_of_weights_is_refused(file):
    edit_card(file, "model", "parameters", 12)
    with pytest.raises(ValueError, match="card has 12"):
        zoo.load("tiny")


def test_a_file_of_ones_own_needs_no_card_and_keeps_its_compilation(tmp_path):
    model = own_model()
    model.compile("sgd", keras.losses.MeanSquaredError())
    model.save(tmp_path / "mine.keras")
    loaded = zoo.load(str(tmp_path / "mine.keras"))
    assert loaded.compiled
    x = np.ones((1, 5, 2), np.float32)
    np.testing.assert_array_equal(np.asarray(loaded(x)), np.asarray(model(x)))
    with pytest.raises(FileNotFoundError, match="cannot be checked"):
        zoo.check(tmp_path / "mine.keras")


@pytest.mark.slow
def test_a_card_beside_ones_own_file_is_held_against_it(file, tmp_path):
    moved = file.rename(file.with_name("renamed.keras"))
    assert zoo.load(moved).count_params() == zoo.card("tiny")["model"]["parameters"]
    own_model().save(moved)
    with pytest.raises(ValueError, match="not the file that its card describes"):
        zoo.load(moved)


@pytest.mark.parametrize("golden", [{}, {"input": "golden.npz", "atol": "x"}, [1], None])
def test_a_golden_entry_beside_ones_own_file_is_held_to_the_schema(file, golden):
    path = file.with_name("card.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "golden": golden}))
    with pytest.raises(ValueError, match="card.golden"):
        zoo.check(file)


def test_a_card_of_another_file_in_the_folder_is_not(file):
    own = file.with_name("mine.keras")
    own_model().save(own)
    assert zoo.load(own).input_shape == (None, None, 2)


@pytest.mark.parametrize("damage", ["cut", "flipped", "text"])
def test_a_damaged_file_of_ones_own_is_refused(tmp_path, damage):
    file = tmp_path / "mine.keras"
    own_model().save(file)
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-100])
    elif damage == "flipped":
        with zipfile.ZipFile(file) as archive:
            start = archive.getinfo("model.weights.h5").header_offset
        flip_byte(file, start + 200)
    else:
        file.write_text("weights")
    with pytest.raises(ValueError, match=r"mine\.keras is not a complete \.keras file"):
        zoo.load(file)


def test_an_archive_of_something_else_is_refused(tmp_path):
    file = tmp_path / "mine.keras"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("notes.txt", "hello")
    with pytest.raises(ValueError, match=r"lacks config\.json, metadata\.json"):
        zoo.load(file)


def test_control_characters_in_a_file_do_not_reach_the_message(tmp_path):
    file, changed = tmp_path / "mine.keras", tmp_path / "changed.keras"
    own_model().save(file)
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(changed, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "config.json":
                assert b'"float32"' in content
                content = content.replace(b'"float32"', rb'"\u001b[31mred"')
            target.writestr(name, content)
    with pytest.raises(ValueError, match="cannot read") as refused:
        zoo.load(changed)
    assert str(refused.value).isprintable() and "red" in str(refused.value)


def test_code_in_a_file_is_refused(tmp_path):
    signal = keras.Input((None, 2))
    model = keras.Model(signal, keras.layers.Lambda(lambda x: x, output_shape=(None, 2))(signal))
    model.save(tmp_path / "code.keras")
    with pytest.raises(ValueError, match=r"cannot read .*code\.keras: it contains code") as refused:
        zoo.load(tmp_path / "code.keras")
    assert "safe_mode" not in str(refused.value) and "Import your classes" not in str(refused.value)


class Own(keras.layers.Layer):
    """Layer that is not registered with Keras."""

    def call(self, inputs):
        return inputs


def own_activation(x):
    return x


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (lambda: Own(), "Could not locate class 'Own'"),
        (lambda: keras.Sequential([Own()]), "Could not locate class 'Own'"),
        (lambda: keras.layers.Dense(2, own_activation), "locate function 'own_activation'"),
    ],
)
def test_an_unregistered_class_is_named(tmp_path, layer, said):
    signal = keras.Input((3,))
    keras.Model(signal, layer()(signal)).save(tmp_path / "own.keras")
    with pytest.raises(ValueError, match=f"own.keras: .*{said}. Import your classes"):
        zoo.load(tmp_path / "own.keras")


def rewritten(file, name, change):
    """Returns the file with one changed member, or without the member if `change` returns None."""
    with zipfile.ZipFile(file) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in members.items():
            content = change(content) if each == name else content
            if content is not None:
                archive.writestr(each, content)
    return file


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("config.json", lambda old: b"", "Expecting value"),
        ("config.json", lambda old: b"[" * 100_000, "recursion"),
        ("config.json", lambda old: b"[3]", "KerasSaveable"),
        ("config.json", lambda old: old.replace(b'"filters"', b'"filtres"'), "'filters'"),
        ("config.json", lambda old: old.replace(b'"filters": 3', b'"filters": 4'), "shape"),
        (
            "config.json",
            lambda old: b"{" + b" " * 2**25 + b"}",
            "config.json of the zip file would take",
        ),
        ("model.weights.h5", lambda old: None, "lacks model.weights.h5"),
        ("model.weights.h5", lambda old: b"hello", "weights.h5 of the zip file is damaged"),
        (
            "model.weights.h5",
            lambda old: old[: len(old) // 2],
            "weights.h5 of the zip file is damaged",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:Skipping nested container")  # Keras's, before it raises
def test_another_cause_is_told_with_the_files_name_and_no_word_of_registering(
    tmp_path, name, change, said
):
    file = tmp_path / "mine.keras"
    own_model().save(file)
    with pytest.raises(ValueError, match=rf"mine\.keras.*{said}.* Copy the file again") as refused:
        zoo.load(rewritten(file, name, change))
    assert "register" not in str(refused.value)
    assert len(str(refused.value)) < 1000


def test_a_file_that_was_compressed_again_is_read(tmp_path):
    file = tmp_path / "mine.keras"
    model = own_model()
    model.save(file)
    loaded = zoo.load(rewritten(file, None, None))
    for ours, theirs in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_file_that_may_not_be_read_is_not_called_damaged(tmp_path, monkeypatch):
    file = tmp_path / "mine.keras"
    own_model().save(file)

    def refused(*arguments):
        raise PermissionError(13, "Permission denied", str(file))

    monkeypatch.setattr(reading, "open", refused, raising=False)
    with pytest.raises(PermissionError, match="denied.*mine.keras"):
        zoo.load(file)


def test_a_missing_path_is_refused(zoo_folder, tmp_path):
    with pytest.raises(
        FileNotFoundError, match="model file .*nothing.keras.*model of the zoo: tiny"
    ):
        zoo.load(tmp_path / "nothing.keras")
    with pytest.raises(TypeError, match="by its name or its path. Received int"):
        zoo.load(7)
