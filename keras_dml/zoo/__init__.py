"""Trained models by name: `list_models`, `info`, `card`, `load` and `check`.

`list_models`, `info` and `card` read JSON and load neither Keras nor a backend. The recipes in the
checkout's folder `zoo` train and write the models.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
