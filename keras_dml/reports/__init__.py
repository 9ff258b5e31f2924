"""Draws plots of evaluation results in a common style, and writes an HTML page that contains these
plots.

The modules of this package are imported on first use. The package `reports` does not import Keras.
"""

import lazy_loader

from keras_dml import _optional

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name):
    with _optional.explained():
        return _load(name)
