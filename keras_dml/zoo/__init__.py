"""Lists, describes, loads and checks the trained models of the zoo. The public functions are
`list_models`, `info`, `card`, `load` and `check`. `list_models`, `info` and `card` read JSON files
and import neither Keras nor a backend. The recipes in the folder `zoo` of the repository train the
models and write their files.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
