from . import correlation as correlation
from . import covariance as covariance
from . import spectrum as spectrum

__all__ = [
    "correlation",
    "covariance",
    "spectrum",
]
