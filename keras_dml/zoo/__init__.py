"""Trained models by name: `list_models`, `info`, `card`, `load` and `check`.

`list_models`, `info` and `card` read JSON and load neither Keras nor a backend. The recipes in the
checkout's folder `zoo` train and write the models.
"""

from keras_dml import _lazy
from keras_dml.zoo.catalog import card, info, list_models

__all__ = ["card", "check", "info", "list_models", "load"]

__getattr__, _ = _lazy.attach(__name__, {"check": "reading", "load": "reading"})


def __dir__():
    return sorted(__all__)
