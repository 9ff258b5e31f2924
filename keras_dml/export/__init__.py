"""Export of models to files for serving (`saved_model`) and for devices (`tflite`).

`potato` exports the online detector of artifacts, and `contract` reads the input contract of a
file. A file has two signatures: `embed(signal, length) -> embedding` (for a model on matrices
`embed(matrix)`, on images `embed(image)`) and `distance(embedding, gallery) -> distance`. The file
of a `PrototypicalClassifier` also has `score(embedding, prototypes) -> similarity` and
`classify(...) -> scores`. An input that breaks the model's contract gives NaN. The default
signature of a SavedModel is `embed`. Every file is compared with Keras before it replaces an
existing file. Names load on first use; the first export loads TensorFlow.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
