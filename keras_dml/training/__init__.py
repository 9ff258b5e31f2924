"""What training runs share."""

from keras_dml.training.runs import Runs, write_json

__all__ = ["Runs", "write_json"]
