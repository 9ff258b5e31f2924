"""Models as files for serving and for devices: `saved_model` and `tflite`.

Both carry two signatures, `embed(signal, length) -> embedding` and `distance(embedding, gallery) ->
distance`, and are compared with Keras before they are put in place. TensorFlow is loaded by the
first export.
"""

from keras_dml.export._saved_model import saved_model
from keras_dml.export._tflite import tflite
from keras_dml.export.result import Export

__all__ = ["Export", "saved_model", "tflite"]
