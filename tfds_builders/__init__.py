"""Data sets for TensorFlow Datasets (TFDS). `import tfds_builders` registers all data sets of this
package.

>>> import tensorflow_datasets as tfds
>>> import tfds_builders
>>> "ipol_gait" in tfds_builders.list_builders()
True

After the import, `tfds.load("ipol_gait")`, `tfds.builder` and `tfds.data_source` find the data sets
by name. Python imports the module of a builder when you first use the builder. You can read files
of the format array_record without TensorFlow.
"""

from __future__ import annotations

import difflib
import importlib
import pathlib

try:
    from tensorflow_datasets.core import registered as _registered
except ImportError as _error:
    raise ImportError(
        "tfds_builders needs the package tensorflow-datasets "
        f"({type(_error).__name__}: {_error}). Install it: "
        'pip install "keras-dml[data]"'
    ) from _error

__all__ = ["add_package", "builder_cls", "check_config", "check_name", "list_builders"]


def _builders_in(folder: pathlib.Path) -> list[str]:
    """Returns the names of the data sets in the folder of a package."""
    return sorted(
        child.name
        for child in folder.iterdir()
        if (child / f"{child.name}_dataset_builder.py").exists()
    )


# {name of the data set: (package, folder)}. If this module is reloaded, the added packages remain.
_BUILDERS: dict[str, tuple[str, pathlib.Path]] = globals().get("_BUILDERS") or {
    name: (__name__, pathlib.Path(__file__).parent / name)
    for name in _builders_in(pathlib.Path(__file__).parent)
}


def list_builders() -> list[str]:
    """Returns the names of all data sets in this package and in the packages that `add_package`
    added.

    `tfds.list_builders()` lists only the data sets of TFDS.
    """
    return list(_BUILDERS)


def add_package(package: str) -> list[str]:
    """Adds the data sets of another package. TFDS and the commands of this package then find these
    data sets by name.

    Args:
        package: Name of an importable package with one folder per data set, each with a module
            `<name>/<name>_dataset_builder.py` that defines a class `Builder`.

    Returns:
        The names of the added data sets.

    Raises:
        ValueError: If the package cannot be imported, if it has no data sets, or if one of its data
            sets has the name of a data set of another package.
    """
    try:
        module = importlib.import_module(package)
    except ImportError as error:
        raise ValueError(
            f"The package {package!r} cannot be imported ({error}). Install it, or run the command "
            "in the folder that holds it."
        ) from None
    folders = {
        name: pathlib.Path(folder) / name
        for folder in getattr(module, "__path__", ())
        for name in _builders_in(pathlib.Path(folder))
    }
    if not folders:
        raise ValueError(
            f"The package {package!r} has no data sets. A data set is a folder NAME with a module "
            "NAME_dataset_builder.py; tfds_builders/template has an example."
        )
    for name in folders:
        owner = _BUILDERS.get(name, (package,))[0]
        if owner != package:
            raise ValueError(
                f"The data set {name!r} of the package {package!r} exists already in {owner!r}. "
                "Rename its folder and its module."
            )
    _BUILDERS.update({name: (package, folder) for name, folder in folders.items()})
    return list(folders)


def check_name(name: str) -> str:
    """Checks that a data set exists, and returns its name. The argument is `"name"` or
    `"name/config"`.

    Raises:
        ValueError: If no data set has the name. The error suggests the most similar name.
    """
    dataset = name.partition("/")[0].partition(":")[0]
    if dataset not in _BUILDERS:
        near = difflib.get_close_matches(dataset.lower(), _BUILDERS, n=1, cutoff=0.4)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"Unknown data set {dataset!r}.{hint} There are: {', '.join(_BUILDERS)}.")
    return dataset


def check_config(name: str) -> None:
    """Checks that a data set exists and has a config. The argument is `"name"` or `"name/config"`.

    Raises:
        ValueError: If the data set or the config does not exist. The error lists the existing
            names.
    """
    cls = builder_cls(name)
    config = name.partition("/")[2].partition(":")[0]
    if config and config not in cls.builder_configs:
        raise ValueError(
            f"{check_name(name)} has no config {config!r}. There are: "
            f"{', '.join(cls.builder_configs)}."
        )


def builder_cls(name: str) -> type:
    """Imports and returns the builder class of a data set.

    Raises:
        ValueError: If no data set has the name. The error suggests the most similar name.
    """
    dataset = check_name(name)
    package, folder = _BUILDERS[dataset]
    cls = importlib.import_module(f"{package}.{dataset}.{dataset}_dataset_builder").Builder
    cls.pkg_dir_path = folder
    return cls


class _Provider:
    """Object through which TFDS finds our data sets by name and imports their builders."""

    def has_dataset(self, name: str) -> bool:
        return name in _BUILDERS

    def get_builder_cls(self, name: str) -> type:
        return builder_cls(name)


def _register() -> None:
    """Registers a provider that imports a builder when it is first used. If this version of TFDS
    does not support providers, imports and registers all builders.
    """
    if hasattr(_registered, "add_dataset_builder_provider"):
        _registered.add_dataset_builder_provider(_Provider(), index=0)
        return
    for name in _BUILDERS:
        builder_cls(name)


if "_is_registered" not in globals():  # a reload keeps the globals, and must not register twice
    _register()
    _is_registered = True
