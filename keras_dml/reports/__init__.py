"""Draws plots of evaluation results in a common style, and writes an HTML page that contains these
plots.

The modules of this package are imported on first use. The package `reports` does not import Keras.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
