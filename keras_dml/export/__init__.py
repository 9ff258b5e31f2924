"""Exports models to files for servers (`saved_model`), for devices (`tflite`, `stream`, `bundle`),
for ONNX Runtime (`onnx`) and for microcontrollers (`microcontroller`).

`potato` exports the Riemannian potato (an online detector of artifacts), and `contract` reads the
input contract of an exported file. Each exported file has two signatures. `embed(signal, length)`
returns `embedding`. The argument of `embed` is `matrix` for a model that takes matrices, and
`image` for a model that takes images. `distance(embedding, gallery)` returns `distance`. The file
of a `PrototypicalClassifier` has two more signatures: `score(embedding, prototypes)` returns
`similarity`, and `classify(...)` returns `scores`. If an input violates the input contract, the
output is NaN. The default signature of a SavedModel is `embed`. The file of a stream has `step`
and `read` instead of `embed`. ONNX has no signatures, so an ONNX export is a folder with one file
per signature. `microcontroller` writes a folder with C code, whose functions return a status
instead of NaN. The outputs of every exported file are compared with Keras before the file replaces
an existing file. The modules of this package are imported on first use, and the first export
imports TensorFlow.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
