"""Models as files for serving and for devices: `saved_model` and `tflite`; `potato` for the online
detector of artifacts; `contract` reads what a file takes.

The files carry two signatures, `embed(signal, length) -> embedding` (of a model on matrices
`embed(matrix)`, on images `embed(image)`) and `distance(embedding, gallery) -> distance`; those of
a `PrototypicalClassifier` also `score(embedding, prototypes) -> similarity` and `classify(...) ->
scores`. An input that breaks the model's contract gives NaN. A SavedModel has `embed` as its
default signature too. The files are compared with Keras before they are put in place. Names load
on first use; TensorFlow is loaded by the first export.
"""

from keras_dml import _lazy

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
__getattr__, __dir__ = _lazy.attach(__name__, _HOME, _SUBMODULES)
