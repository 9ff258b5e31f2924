"""Attempts to write to folders, pipes, sockets, links and invalid names.

After an attempt, each file must be complete or unchanged. Nothing is written to the root folder or
to devices.
"""

import functools
import json
import os
import pathlib
import socket

import matplotlib.figure
import numpy as np

from keras_dml import export, layers, potato
from keras_dml._backend import keras
from keras_dml.reports import style
from keras_dml.training import Runs, write_json
from tests.hostile import draws
from tests.hostile.checks import Verdict, check_tree, settle, tree

CONTENT = {"a": [1.5, "ü"]}


@functools.cache
def _potato():
    signals = np.random.default_rng(3).normal(size=(9, 20, 2))
    return potato.Potato().fit(np.einsum("nti,ntj->nij", signals, signals))


@functools.cache
def _model():
    keras.utils.set_random_seed(3)
    return keras.Sequential([keras.Input((None, 2)), layers.QuantileLayer(4)])


def _figure():
    figure = matplotlib.figure.Figure((1, 1))
    figure.add_subplot().plot([1, 2])
    return figure


def _check_json(path):
    assert json.loads(path.read_text(encoding="utf-8")) == CONTENT


def _check_potato(path):
    np.testing.assert_array_equal(potato.Potato.load(path).center_, _potato().center_)


def _check_signatures(path):
    assert path.stat().st_size > 1000 and b"TFL3" == path.read_bytes()[4:8]


WRITERS = {  # name: function that writes a file, and function that checks the file
    "JSON": (lambda path: write_json(pathlib.Path(path), CONTENT), _check_json),
    "a potato": (lambda path: _potato().save(path), _check_potato),
}


def _socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))  # an absolute path may be too long for a socket


def _thing(path):
    (path / "mine").mkdir(parents=True)
    (path / "mine" / "photo.jpg").write_bytes(b"not yours")


# `{name: function that makes an obstacle at a path}`.
OBSTACLES = {
    "an empty folder": pathlib.Path.mkdir,
    "a folder": _thing,
    "a pipe": os.mkfifo,
    "a socket": _socket,
    "a link to a folder": lambda path: path.symlink_to("others"),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a link to itself": lambda path: path.symlink_to(path.name),
}
NO_NAMES = (
    "",
    ".",
    "..",
    "new.npz/",
    "others/",
    "others/.",
    "others/..",
    "./",
    "../",
    "none/new.npz",
)
NO_NAMES += (
    "notes.txt/new.npz",
    "\0",
    "a\0b",
    f"{300 * 'x'}.npz",
    "pipe/new.npz",
    "nothing/new.npz",
)
ODD_NAMES = ("-rf", "~", "ä\u202e.npz", "a\nb.npz", "[x]*?.npz", "\x1b[31m.npz", "\udcff.npz")
ODD_NAMES += ("new", "lock", "replaced", f"{230 * 'x'}.npz", "CON", "a b.npz", ".npz", "%s{0}.npz")


def _surroundings(folder):
    """Makes a working folder next to files that must not change. Returns the path."""
    inner = folder / "outer" / "inner"
    inner.mkdir(parents=True)
    _thing(inner / "others")
    (inner / "notes.txt").write_text("not yours")
    (inner / ".new.npz.settings").mkdir()
    os.mkfifo(inner / "pipe")
    os.chdir(inner)
    return inner


def _write(folder, writer, path, target, **rules):
    """Writes to a path. Only the target may change, and only if writing succeeds."""
    write, check = writer
    before = tree(folder)
    verdict = settle(lambda: write(path), lambda _: check(target), **rules)
    written = (target.relative_to(folder).as_posix(),) if verdict == Verdict.ANSWERED else ()
    check_tree(folder, before, but=written)
    return verdict


def obstacle(rng, folder):
    """Writes a file to a path at which something else than a file exists."""
    path = _surroundings(folder) / "new.npz"
    OBSTACLES[draws.draw(rng, list(OBSTACLES))](path)
    given = draws.draw(rng, (path, str(path), "new.npz", os.path.join("..", "inner", "new.npz")))
    return _write(folder, draws.draw(rng, list(WRITERS.values())), given, path, refuses=True)


def no_name(rng, folder):
    """Writes to a path that cannot name a file, or whose parent is not a folder."""
    inner = _surroundings(folder)
    path = draws.draw(rng, NO_NAMES)
    return _write(folder, WRITERS["a potato"], path, inner / "none", refuses=True)


def odd_name(rng, folder):
    """Writes to a path with an unusual name, which must give a file or a clear error."""
    inner = _surroundings(folder)
    name = draws.draw(rng, ODD_NAMES)
    return _write(folder, draws.draw(rng, list(WRITERS.values())), name, inner / name)


def sound(rng, folder):
    """Writes or replaces a file with unusual permissions, links or a read-only folder."""
    inner = _surroundings(folder)
    path = target = inner / "new.npz"
    kind = rng.integers(5)
    if kind:
        target.write_text("old")
        target.chmod(0o640)
    if kind == 2:
        path = inner / "link"
        path.symlink_to(target)
    if kind == 3:
        os.link(target, inner / "hard")
    if kind == 4:
        inner.chmod(0o555)
    writer = draws.draw(rng, list(WRITERS.values()))
    try:
        verdict = _write(folder, writer, path, target, refuses=None if kind == 4 else False)
    finally:
        inner.chmod(0o755)
    if kind and verdict == Verdict.ANSWERED:
        assert target.stat().st_mode & 0o777 == 0o640
    return verdict


def exports(rng, folder):
    """Exports a model to an occupied path. The exporter must refuse the path before it does
    anything else.
    """
    path = _surroundings(folder) / "new"
    to_folder = rng.random() < 0.5
    kinds = [kind for kind in OBSTACLES if not (to_folder and kind == "an empty folder")]
    if rng.random() < 0.5:
        OBSTACLES[draws.draw(rng, kinds)](path)
        given = draws.draw(rng, (path, "new", f"{path}/") if path.is_dir() else (path, "new"))
    else:
        given = draws.draw(rng, ("", ".", "..", "others", "others/", "pipe", "notes.txt/new"))
    write = export.saved_model if to_folder else export.tflite
    return _write(folder, (lambda path: write(_model(), path), None), given, path, refuses=True)


def whole_export(rng, folder):
    """Replaces an existing file by an exported TFLite file."""
    path = _surroundings(folder) / "new.tflite"
    path.write_text("old")
    writer = (lambda path: export.tflite(_model(), path, None), _check_signatures)
    return _write(folder, writer, path, path, refuses=False)


def pictures(rng, folder):
    """Saves a figure as three files. If one of the three files cannot be written, the other two
    files may not be written either.
    """
    path = _surroundings(folder) / "new.svg"
    bad = rng.random() < 0.7
    if bad:
        kind = draws.draw(rng, ("png", "svg", "csv"))
        OBSTACLES[draws.draw(rng, list(OBSTACLES))](path.with_suffix(f".{kind}"))
    before = tree(folder)
    written = [path.with_suffix(f".{kind}") for kind in ("png", "svg", "csv")]

    def check(found):
        assert found == written and all(file.stat().st_size for file in found)

    stem = path.with_suffix("")
    call = lambda: style.save(_figure(), stem, {"a": [1, 2]})  # noqa: E731
    verdict = settle(call, check, refuses=bool(bad))
    check_tree(
        folder, before, but=() if bad else [file.relative_to(folder).as_posix() for file in written]
    )
    return verdict


def runs(rng, folder):
    """Stores runs in a folder with an obstacle. The obstacle must cause an error before the first
    run starts.
    """
    _surroundings(folder)
    settings = [{"name": "run", "seed": seed} for seed in range(3)]
    kept = Runs("kept")
    bad = rng.random() < 0.7
    path = kept.path(settings[int(rng.integers(3))]).absolute()
    if bad:
        OBSTACLES[draws.draw(rng, list(OBSTACLES))](path)
    elif rng.random() < 0.5:
        path.write_text(draws.draw(rng, ('{"result": [0', "[]", "{}", "\x00", "")))
        bad = True
    before = tree(folder)
    made = []

    def run(one):
        made.append(one)
        return one["seed"]

    def check(found):
        assert found == [0, 1, 2] and made == settings

    verdict = settle(lambda: kept.make(settings, run, "run"), check, refuses=bool(bad))
    check_tree(folder, before, but=[f"outer/inner/{kept.path(one)}" for one in settings])
    return verdict


def asked(rng, folder):
    """Checks without writing that the root folder and devices are refused as output paths."""
    from keras_dml import _files

    place = draws.draw(rng, (_files.replaceable_file, _files.replaceable_saved_model))
    path = draws.draw(rng, ("/", "//", "/.", "/..", "/dev/full", "/dev/null", "/dev/stdout"))
    return settle(lambda: place(path), refuses=True)


KINDS = {
    "an obstacle": (40, obstacle),
    "no name": (30, no_name),
    "an odd name": (30, odd_name),
    "a sound path": (20, sound),
    "exports": (20, exports),
    "a whole export": (1, whole_export),
    "pictures": (8, pictures),
    "runs": (16, runs),
    "the root and devices": (10, asked),
}
