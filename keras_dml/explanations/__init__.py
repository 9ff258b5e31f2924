"""Explanations of the distance of two recordings by moments, channels and regions."""

from keras_dml import _lazy

_HOME = {
    "explain": "_explain",
    "explain_nearest": "_explain",
    "Explanation": "_result",
    "Moment": "_result",
    "Timeline": "_result",
}

__all__ = [*_HOME]
__getattr__, __dir__ = _lazy.attach(__name__, _HOME)
