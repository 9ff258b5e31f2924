"""Models as files for serving and for devices: `saved_model` and `tflite`; `potato` for the online
detector of artifacts; `contract` reads what a file takes.

The files carry two signatures, `embed(signal, length) -> embedding` (of a model on matrices
`embed(matrix)`, on images `embed(image)`) and `distance(embedding, gallery) -> distance`; those of
a `PrototypicalClassifier` also `score(embedding, prototypes) -> similarity` and `classify(...) ->
scores`. They are compared with Keras before they are put in place. Names load on first use;
TensorFlow is loaded by the first export.
"""

import importlib

_HOME = {
    "Export": "result",
    "contract": "_contract",
    "potato": "_potato",
    "saved_model": "_saved_model",
    "tflite": "_tflite",
    "works_on_matrices": "_devices",
}
_SUBMODULES = {*_HOME.values(), "litert", "operators", "parity", "signatures", "trials"}

__all__ = [*_HOME]


def __getattr__(name):
    if name in _HOME:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"module `{__name__}` has no attribute `{name}`. It offers {', '.join(__all__)}."
    )


def __dir__():
    return sorted({*globals(), *__all__})
