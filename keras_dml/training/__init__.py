"""What training runs share."""

from keras_dml.training._fit import Optimization, fit
from keras_dml.training.runs import Runs, write_json

__all__ = ["Optimization", "Runs", "fit", "write_json"]
