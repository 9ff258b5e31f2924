"""Models as files for serving and for devices: `saved_model` and `tflite`; `potato` for the online
detector of artifacts.

The files carry two signatures, `embed(signal, length) -> embedding` (of a model on matrices
`embed(matrix)`, on images `embed(image)`) and `distance(embedding, gallery) -> distance`; those of
a `PrototypicalClassifier` also `score(embedding, prototypes) -> similarity` and `classify(...) ->
scores`. They are compared with Keras before they are put in place. TensorFlow is loaded by the
first export.
"""

from keras_dml.export._devices import works_on_matrices
from keras_dml.export._potato import potato
from keras_dml.export._saved_model import saved_model
from keras_dml.export._tflite import tflite
from keras_dml.export.result import Export

__all__ = ["Export", "potato", "saved_model", "tflite", "works_on_matrices"]
