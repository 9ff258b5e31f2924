"""Plots of evaluation results in one style, and an HTML page that contains them.

Names load on first use. This package does not load Keras.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
