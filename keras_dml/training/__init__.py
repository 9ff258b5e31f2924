"""Trains, measures and publishes models. `train` and `train_folder` train a model on recordings of
people. `fit` trains a network and can resume an interrupted training. `People` holds recordings
with the person and session of each recording. `measure` evaluates a model on recordings of people,
and `publish` writes a trained model with its card and page into a folder of the zoo. Submodules are
imported when a name is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
