"""Deep metric learning for Keras, with embeddings that need not be vectors.

Public names and subpackages load on first use (PEP 562). So `import keras_dml` is fast, and imports
neither Keras nor a backend. It also registers no Keras class: `keras_dml.zoo.load(path)` registers
all classes before it reads a file, but `keras.saving.load_model` needs `import keras_dml.layers,
keras_dml.losses, keras_dml.models` first.
"""

import importlib

__version__ = "0.1.0"

_HOME = {
    "Gallery": "gallery",
    "distance": "inference",
    "embed": "inference",
    "explain": "explanations",
}
_SUBPACKAGES = (
    "distances",
    "evaluation",
    "explanations",
    "export",
    "gallery",
    "geometry",
    "inference",
    "inputs",
    "layers",
    "losses",
    "models",
    "potato",
    "quality",
    "recordings",
    "reports",
    "samplers",
    "training",
    "zoo",
)

__all__ = ["__version__", *sorted([*_HOME, *_SUBPACKAGES])]


def __getattr__(name):
    if name in _HOME:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if name in _SUBPACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"module `{__name__}` has no attribute `{name}`. It offers {', '.join(__all__)}."
    )


def __dir__():
    return sorted({*globals(), *__all__})
