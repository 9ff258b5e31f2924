"""Exports models to files for servers (`saved_model`) and for devices (`tflite`).

`potato` exports the Riemannian potato (an online detector of artifacts), and `contract` reads the
input contract of an exported file. Each file has two signatures. `embed(signal, length)` returns
`embedding`. A model of matrices has `embed(matrix)` instead, and a model of images has
`embed(image)`. `distance(embedding, gallery)` returns `distance`. The file of a
`PrototypicalClassifier` also has `score(embedding, prototypes)`, which returns `similarity`, and
`classify(...)`, which returns `scores`. The output is NaN for an input that breaks the contract of
the model. The default signature of a SavedModel is `embed`. Every file is compared with Keras
before it replaces an existing file. The modules of this package are imported on first use, and the
first export imports TensorFlow.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
