"""Deep metric learning for Keras. Embeddings can be vectors, distributions or matrices.

Public names and subpackages load on first use (PEP 562). Therefore, `import keras_dml` is fast and
does not import Keras or a backend. `import keras_dml` does not register Keras classes.
`keras_dml.zoo.load(path)` registers all classes before it reads a file. Before
`keras.saving.load_model`, write `import keras_dml.layers, keras_dml.losses, keras_dml.models`.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
