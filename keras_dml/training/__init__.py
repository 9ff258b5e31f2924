"""What training runs share: one fit, one split by people, one measurement, one publisher.

`fit` trains and resumes, `People` holds recordings with their owners, `measure` evaluates a model
on them, `publish` writes a trained model with its card and page into a folder of the zoo.
"""

from keras_dml.training import golden, measure
from keras_dml.training._card import build_card, training_record, versions
from keras_dml.training._fit import Fitted, Optimization, fit
from keras_dml.training._publish import figure_files, publish, update
from keras_dml.training.people import People, folds
from keras_dml.training.runs import Runs, write_json

__all__ = [
    "Fitted",
    "Optimization",
    "People",
    "Runs",
    "build_card",
    "figure_files",
    "fit",
    "folds",
    "golden",
    "measure",
    "publish",
    "training_record",
    "update",
    "versions",
    "write_json",
]
