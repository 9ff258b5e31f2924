"""Attempts to load model files that are damaged, rewritten, huge when unpacked, or contain code."""

import functools
import io
import json
import pathlib
import tempfile
import zipfile

import h5py
import numpy as np

from keras_dml import zoo
from keras_dml._backend import keras
from keras_dml.zoo import reading
from tests.hostile import draws
from tests.hostile.checks import bounded, check_tree, settle, tree

CONFIG, WEIGHTS = "config.json", "model.weights.h5"
MAX_BYTES = 64 << 20  # bytes of memory to read a file of a few kilobytes


def _saved(model):
    """Saves and loads a model. Returns the bytes of the file and the loaded configuration."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.keras")
        model.save(path)
        return path.read_bytes(), keras.saving.load_model(path, safe_mode=False).get_config()


@functools.cache
def original():
    """Returns the bytes of a model file, and the weights and configuration of the model."""
    keras.utils.set_random_seed(3)
    inputs = keras.Input((None, 3))
    x = keras.layers.Dense(4, activation="relu", name="first")(inputs)
    x = keras.layers.GlobalAveragePooling1D(name="pool")(keras.layers.Dense(2, name="last")(x))
    model = keras.Model(inputs, x, name="tiny")
    data, config = _saved(model)
    return data, model.get_weights(), config


def members(data):
    """Returns the members of a zip file, `{name: bytes}`."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files, compression=zipfile.ZIP_STORED):
    """Returns the bytes of a zip file with these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def _is_original(model):
    _has_weights(model)
    assert model.get_config() == original()[2], "another configuration"


def _has_weights(model):
    expected = {(one.shape, one.tobytes()) for one in original()[1]}
    found = [(one.shape, one.tobytes()) for one in model.get_weights()]
    assert found and set(found) <= expected, "other weights"


def _has_shapes(model):
    expected = [one.shape for one in original()[1]]
    assert [one.shape for one in model.get_weights()] == expected, "other shapes"


def _load(folder, data, agrees=None, name="model.keras", **rules):
    path = folder / name
    path.write_bytes(data)
    return settle(lambda: zoo.load(path), agrees, names=(str(path),), **rules)


def damage(rng, folder):
    """Damages bytes of a model file. A file with valid checksums must load unchanged."""
    return _load(folder, draws.damaged(rng, original()[0]), _is_original)


def damage_beside_a_card(rng, folder):
    """Damages bytes of a model file with a card, which contains the digest of the file."""
    whole = original()[0]
    data = draws.damaged(rng, whole) if rng.random() < 0.9 else whole
    (folder / "model.keras").write_bytes(whole)
    digest = reading.sha256(folder / "model.keras")
    parameters = sum(one.size for one in original()[1])
    card = {"model": {"file": "model.keras", "sha256": digest, "parameters": parameters}}
    (folder / "card.json").write_text(json.dumps(card))
    return _load(folder, data, _is_original, refuses=data != whole)


def configuration(rng, folder):
    """Replaces a value of the configuration, and writes valid checksums."""
    files = members(original()[0])
    text, _ = draws.spoiled_json(rng, files[CONFIG].decode())
    files[CONFIG] = text.encode("utf-8", "surrogatepass")
    return _load(folder, packed(files), _has_weights)


def weights(rng, folder):
    """Damages the HDF5 weights, and writes valid checksums.

    The weights may have other numbers, but must keep their shapes.
    """
    files = members(original()[0])
    files[WEIGHTS] = draws.damaged(rng, files[WEIGHTS])
    return _load(folder, packed(files), _has_shapes)


def bomb(rng, folder):
    """Reads a model file of kilobytes that unpacks to more than a hundred megabytes."""
    files = members(original()[0])
    name = draws.draw(rng, (CONFIG, "metadata.json", "assets/more.txt", WEIGHTS))
    if name == WEIGHTS:
        out = io.BytesIO()
        with h5py.File(out, "w") as file:
            place = f"layers/dense/vars/{rng.integers(2)}"
            file.create_dataset(place, (10**10,), "f4", chunks=(1000,), compression="gzip")
        files[name] = out.getvalue()
    else:
        files[name] = b" " * int(rng.integers(100, 200)) * 2**20 + files.get(name, b"")
    path = folder / "model.keras"
    path.write_bytes(packed(files, zipfile.ZIP_DEFLATED))
    return settle(bounded(lambda: zoo.load(path), MAX_BYTES), refuses=True, names=(str(path),))


def members_of_a_wrong_kind(rng, folder):
    """Reads a model file in which a zip member is missing, duplicate, encrypted or compressed in an
    unusual way, or has a path outside of the archive.
    """
    files = members(original()[0])
    kind = rng.integers(5)
    if kind == 0:
        del files[draws.draw(rng, list(files))]
        data = packed(files)
    elif kind == 1:
        name = draws.draw(rng, ("../bystander/inner/notes.txt", "/tmp/hostile", "a/../../b"))
        data = packed({**files, name: b"mine"})
    elif kind == 2:
        data = packed(files, draws.draw(rng, (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)))
    elif kind == 3:
        data = bytearray(packed(files))
        at = data.index(b"PK\1\2")
        data[6] |= 1
        data[at + 8] |= 1
    else:
        data = packed({**files, "config.jsoo": files[CONFIG]}).replace(b"jsoo", b"json")
    return _load(folder, bytes(data), refuses=True)


def code(rng, folder):
    """Reads a model with a function that would write a file when it is loaded or called."""
    inputs = keras.Input((None, 3))
    steps = int(rng.integers(1, 9))
    ran = str(folder / "ran")
    outputs = keras.layers.Lambda(lambda x: (open(ran, "w").close(), x * steps)[1])(inputs)
    data, _ = _saved(keras.Model(inputs, outputs))
    pathlib.Path(ran).unlink()  # building the model wrote this file
    before = tree(folder)
    verdict = _load(folder, data, refuses=True)
    check_tree(folder, before, but=("model.keras",))
    return verdict


def other_things(rng, folder):
    """Loads a file of another format, a folder or an invalid argument in place of a model file."""
    (folder / "empty.keras").touch()
    np.savez(folder / "arrays.keras", a=np.zeros(3))
    (folder / "folder.keras").mkdir()
    given = draws.draw(
        rng,
        ["empty.keras", "arrays.keras", "folder.keras", "none.keras", None, 3, b"x", "", "[/]"],
    )
    is_file = isinstance(given, str) and given.endswith(".keras")
    return settle(lambda: zoo.load(folder / given if is_file else given), refuses=True)


def whole(rng, folder):
    """Reads the original model file under an unusual name."""
    name = draws.draw(rng, ("model.keras", "ä [1].keras", "a b.keras", f"{100 * 'x'}.keras"))
    return _load(folder, original()[0], _is_original, name=name, refuses=False)


KINDS = {
    "damaged bytes": (40, damage),
    "damaged beside a card": (20, damage_beside_a_card),
    "another configuration": (30, configuration),
    "damaged weights": (16, weights),
    "a bomb": (6, bomb),
    "odd members": (12, members_of_a_wrong_kind),
    "code of its own": (2, code),
    "no model file": (8, other_things),
    "the original": (4, whole),
}
