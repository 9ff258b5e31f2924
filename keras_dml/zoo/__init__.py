"""Trained models by name: `list_models`, `info`, `card`, `load`, `check`. The recipes write them.

`list_models`, `info` and `card` read JSON and load neither Keras nor a backend.
"""

from keras_dml import _lazy
from keras_dml.zoo.catalog import card, info, list_models

__all__ = ["card", "check", "info", "list_models", "load"]

__getattr__, _ = _lazy.attach(__name__, {"check": "reading", "load": "reading"})


def __dir__():
    return sorted(__all__)
