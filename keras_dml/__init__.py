"""Deep metric learning for Keras: embeddings whose geometry is not the Euclidean one.

`import keras_dml` is cheap: public names and subpackages load on first use (PEP 562), so neither
Keras nor a backend is imported before a layer, a loss or a model is asked for. A bare import
registers no class: `keras_dml.zoo.load(path)` registers all of them before it reads a file, and
`keras.saving.load_model` needs `import keras_dml.layers, keras_dml.losses, keras_dml.models` first.
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
