"""Training, measurement and publication of models.

`train` and `train_folder` train a model on recordings of people. `fit` trains a network and resumes
it, `People` contains recordings with their people, `measure` evaluates a model on them, and
`publish` writes a trained model with its card and page into a folder of the zoo. Names load on
first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
