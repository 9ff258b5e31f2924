"""Export of models to files for serving (`saved_model`) and for devices (`tflite`).

`potato` exports the online detector of artifacts, and `contract` reads the input contract of a
file. A file has two signatures: `embed(signal, length) -> embedding` (for a model on matrices
`embed(matrix)`, on images `embed(image)`) and `distance(embedding, gallery) -> distance`. The file
of a `PrototypicalClassifier` also has `score(embedding, prototypes) -> similarity` and
`classify(...) -> scores`. An input that breaks the model's contract gives NaN. The default
signature of a SavedModel is `embed`. Every file is compared with Keras before it replaces an
existing file. Names load on first use; the first export loads TensorFlow.
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
