"""Trained models by name: `list_models`, `info`, `card`, `load`, `check`. The recipes write them.

`list_models`, `info` and `card` read JSON and load neither Keras nor a backend.
"""

import importlib

from keras_dml.zoo.catalog import card, info, list_models

__all__ = ["card", "check", "info", "list_models", "load"]


def __getattr__(name):
    if name in ("check", "load"):
        return getattr(importlib.import_module(f"{__name__}.reading"), name)
    raise AttributeError(
        f"module `{__name__}` has no attribute `{name}`. It offers {', '.join(__all__)}."
    )


def __dir__():
    return sorted(__all__)
