"""Computes embeddings and distances with NumPy and LiteRT, without Keras.

`load` reads a .tflite file that `keras_dml.export.tflite` wrote, or the file of a model of the zoo.
The resulting `Model` accepts the same recordings and rejects the same recordings as the Keras
model, and its distances agree with the distances of the Keras model. `Gallery` enrolls, verifies
and identifies people with such a model, in the same files as `keras_dml.Gallery`. No module that
this package imports needs Keras, TensorFlow, JAX or scikit-learn. Only `Gallery.calibrate` and the
resampling of recordings with uneven times need SciPy.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
