"""Data sets of keras-dml for TensorFlow Datasets: `import tfds_builders` is the whole registration.

>>> import tensorflow_datasets as tfds
>>> import tfds_builders
>>> "ipol_gait" in tfds_builders.list_builders()
True

From then on `tfds.load("ipol_gait")`, `tfds.builder` and `tfds.data_source` know them. Nothing is
imported before it is asked for, and TensorFlow not at all for files of the kind array_record.
"""

from __future__ import annotations

import difflib
import importlib
import pathlib

try:
    from tensorflow_datasets.core import registered as _registered
except ImportError as _error:
    raise ImportError(
        'tfds_builders needs TensorFlow Datasets: pip install "keras-dml[data]" '
        f"({type(_error).__name__}: {_error})."
    ) from _error

__all__ = ["builder_cls", "check_config", "check_name", "list_builders"]

_HERE = pathlib.Path(__file__).parent
_BUILDERS = tuple(
    sorted(p.name for p in _HERE.iterdir() if (p / f"{p.name}_dataset_builder.py").exists())
)


def list_builders() -> list[str]:
    """Returns the names of this package's data sets; `tfds.list_builders()` has TFDS's own only."""
    return list(_BUILDERS)


def check_name(name: str) -> str:
    """Returns the name of the data set in `"name"` or `"name/config"`.

    Raises:
        ValueError: On an unknown name, with the nearest one.
    """
    dataset = name.partition("/")[0].partition(":")[0]
    if dataset not in _BUILDERS:
        near = difflib.get_close_matches(dataset.lower(), _BUILDERS, n=1, cutoff=0.4)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"Unknown data set {dataset!r}.{hint} There are: {', '.join(_BUILDERS)}.")
    return dataset


def check_config(name: str) -> None:
    """Refuses `"name"` or `"name/config"` where there is no such data set or config.

    Raises:
        ValueError: With the names that there are.
    """
    cls = builder_cls(name)
    config = name.partition("/")[2].partition(":")[0]
    if config and config not in cls.builder_configs:
        raise ValueError(
            f"{check_name(name)} has no config {config!r}. There are: "
            f"{', '.join(cls.builder_configs)}."
        )


def builder_cls(name: str) -> type:
    """Imports and gives the builder class of a data set.

    Raises:
        ValueError: On an unknown name, with the nearest one.
    """
    dataset = check_name(name)
    cls = importlib.import_module(f"{__name__}.{dataset}.{dataset}_dataset_builder").Builder
    cls.pkg_dir_path = _HERE / dataset
    return cls


class _Provider:
    """Provides builders to TFDS by name."""

    def has_dataset(self, name: str) -> bool:
        return name in _BUILDERS

    def get_builder_cls(self, name: str) -> type:
        return builder_cls(name)


def _register() -> None:
    """Registers a lazy provider; where TFDS has no such hook, the builders themselves."""
    if hasattr(_registered, "add_dataset_builder_provider"):
        _registered.add_dataset_builder_provider(_Provider(), index=0)
        return
    for name in _BUILDERS:
        builder_cls(name)


if "_is_registered" not in globals():  # a reload keeps the globals, and must not register twice
    _register()
    _is_registered = True
