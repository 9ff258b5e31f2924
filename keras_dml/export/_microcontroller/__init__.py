"""Writes a model as a C99 library for microcontrollers.

`network` reads the layers of a Keras model, `quantization` quantizes convolutions, `tables` writes
numbers as C code, `compiler` compiles and runs the written library, and `library` puts the parts
together. The folder `c` contains the C code itself.
"""

from keras_dml.export._microcontroller.library import microcontroller
from keras_dml.export._microcontroller.network import UnsupportedModelError

__all__ = ["UnsupportedModelError", "microcontroller"]
