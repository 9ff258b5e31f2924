"""Second-order statistics of signals of several channels."""

from keras_dml import _lazy

__all__ = ["correlation", "covariance", "spectrum"]
__getattr__, __dir__ = _lazy.attach(__name__, {}, __all__)
