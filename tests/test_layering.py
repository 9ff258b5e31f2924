"""Tests that imports between the parts of the package follow one direction. The outer parts, such
as the command line, must not import each other."""

import ast
import functools
import pathlib
import sys

ROOT = pathlib.Path(__file__).parent.parent
PACKAGE = ROOT / "keras_dml"

# A unit may import itself and units in earlier rows, but not another unit in the same row.
ROWS = [
    ["contract", "embeddings", "geometry", "images", "labels", "recordings"],
    ["distances", "fitted_potato", "scoring"],
    ["inputs"],
    ["layers"],
    ["losses"],
    ["models"],
    ["samplers", "evaluation", "potato"],
    ["zoo"],
    ["inference"],
    ["explanations"],
    ["quality"],
    ["export", "reports"],
    ["gallery"],
    ["edge", "training"],
    ["cli"],
    ["__main__"],
]
RANK = {unit: row for row, units in enumerate(ROWS) for unit in units}
# All units may import these units, which import no part of the package except `_redirection`.
LEAVES = {
    "_arrays",
    "_backend",
    "_contents",
    "_files",
    "_messages",
    "_optional",
    "_figures",
    "_redirection",
    "_typing",
    "progress",
}
LAZY_NAMES = {
    "Gallery": "gallery",
    "distance": "inference",
    "embed": "inference",
    "explain": "explanations",
}
DEVICE_NEEDS = {"numpy", "ai_edge_litert"}
EDGE_NEEDS = DEVICE_NEEDS | {"keras_dml", "lazy_loader"}
READS_DATA_FOLDER = {"zoo/recordings.py"}


def python_files(folder):
    files = sorted(path for path in (ROOT / folder).rglob("*.py") if ".venv" not in path.parts)
    assert files, f"{folder} has no Python files"
    return files


def relative(path):
    return path.relative_to(ROOT).as_posix()


def package_of(path):
    """Returns the dotted name of the package to which relative imports in this file refer."""
    return ".".join(path.relative_to(ROOT).parent.parts)


def imports(path):
    """Returns all modules that a file imports, also inside functions, as absolute dotted names."""
    return _imports(path, path.read_text())


@functools.cache
def _imports(path, source):
    found = set()
    for node in ast.walk(ast.parse(source, filename=str(path))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package_of(path).split(".")
                stem = parents[: len(parents) - node.level + 1]
                base = ".".join([*stem, base] if base else stem)
            found |= {f"{base}.{alias.name}" for alias in node.names}
    return frozenset(found)


def top(module):
    return module.split(".")[0]


def unit_of(path):
    """Returns the unit of the package that contains a file, such as `geometry` or `distances`."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def units_imported(path):
    """Returns the units of the package that a file imports. `keras_dml` itself counts as the unit
    `""`."""
    units = set()
    for module in imports(path):
        if top(module) == "keras_dml":
            unit = (module.split(".") + [""])[1]
            units.add(LAZY_NAMES.get(unit, unit))
    return units - {"__version__"}


def wrong_arrows(unit, imported):
    if unit in LEAVES:
        return imported - {unit, "_redirection"}
    allowed = {other for other in RANK if RANK[other] < RANK[unit]} | {unit} | LEAVES
    return imported - allowed


MODULES = [path for path in python_files("keras_dml") if path != PACKAGE / "__init__.py"]


def test_imports_point_one_way():
    for path in MODULES:
        unit = unit_of(path)
        assert unit in {*RANK, *LEAVES}, f"{relative(path)}: `{unit}` is missing in ROWS"
        wrong = wrong_arrows(unit, units_imported(path))
        assert not wrong, f"{relative(path)} must not import {sorted(wrong)}"


def test_an_arrow_the_wrong_way_is_seen(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path / "keras_dml")
    path = tmp_path / "keras_dml" / "geometry" / "bad.py"
    path.parent.mkdir(parents=True)
    for line, unit in {
        "from keras_dml.losses import WassersteinLoss": "losses",
        "from keras_dml import layers": "layers",
        "from .. import models": "models",
        "from ..zoo import load": "zoo",
        "def f():\n    import keras_dml.cli": "cli",
        "from keras_dml import embed": "inference",
    }.items():
        path.write_text(line)
        assert wrong_arrows("geometry", units_imported(path)) == {unit}, line
    path.write_text("from keras_dml._backend import ops\nfrom . import numerics\nimport numpy")
    assert not wrong_arrows("geometry", units_imported(path))


def test_every_row_names_what_exists():
    units = {unit_of(path) for path in MODULES}
    assert {*RANK, *LEAVES} <= units, f"without a file: {sorted({*RANK, *LEAVES} - units)}"


def foreign_private_names(path):
    """Returns the private names (with an underscore) that a file imports from another unit of the
    package."""
    taken = {name for name in imports(path) if top(name) == "keras_dml"}
    return {
        name
        for name in taken
        if (parts := name.split("."))[1:2] != [unit_of(path)]
        and any(part.startswith("_") and part != "__version__" for part in parts[2:])
    }


def test_a_private_name_stays_in_its_package():
    for path in MODULES:
        assert not foreign_private_names(path), relative(path)


def test_a_private_name_of_another_package_is_seen(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path / "keras_dml")
    path = tmp_path / "keras_dml" / "losses" / "bad.py"
    path.parent.mkdir(parents=True)
    for line in ("from keras_dml.layers._x import y", "from keras_dml.layers.x import _y"):
        path.write_text(line)
        assert foreign_private_names(path), line
    path.write_text("from keras_dml._arrays import real\nfrom keras_dml.losses._x import _y")
    assert not foreign_private_names(path)


def test_the_package_itself_imports_only_what_loads_names_lazily():
    assert imports(PACKAGE / "__init__.py") == {"lazy_loader"}


def test_keras_is_imported_in_one_place():
    """Tests that only one module imports Keras directly. The error for a missing backend then
    explains what to install, no matter which module is imported first."""
    importers = [path for path in MODULES if "keras" in {top(module) for module in imports(path)}]
    assert importers == [PACKAGE / "_backend" / "__init__.py"]


def test_the_library_knows_no_data_sets_recipes_or_tests():
    for path in MODULES:
        strangers = {"zoo", "tests", "export"}
        if unit_of(path) != "cli":
            strangers.add("tfds_builders")
        assert not strangers & {top(module) for module in imports(path)}, relative(path)


def test_builders_import_nothing_of_the_library():
    strangers = {"keras_dml", "keras", "zoo", "tests", "export"}
    for path in python_files("tfds_builders"):
        assert not strangers & {top(module) for module in imports(path)}, relative(path)


def test_the_program_for_a_device_needs_numpy_and_litert_only():
    allowed = DEVICE_NEEDS | set(sys.stdlib_module_names)
    assert {top(module) for module in imports(PACKAGE / "gallery" / "_decide.py")} <= allowed


def test_the_edge_needs_numpy_and_litert_only():
    """Tests the imports of `keras_dml.edge` itself. The test of `keras_dml.edge` also lists what
    its imports import."""
    allowed = EDGE_NEEDS | set(sys.stdlib_module_names)
    for path in python_files("keras_dml/edge"):
        assert {top(module) for module in imports(path)} <= allowed, relative(path)


def test_one_place_looks_up_the_data_folder():
    folders = ("keras_dml", "tfds_builders", "zoo", "export")
    code = [path for folder in folders for path in python_files(folder)]
    readers = {relative(path) for path in code if "KERAS_DML_DATA" in path.read_text()}
    assert readers <= READS_DATA_FOLDER
