from . import correlation as correlation
from . import covariance as covariance
from . import running_correlation as running_correlation
from . import spectrum as spectrum

__all__ = [
    "correlation",
    "covariance",
    "running_correlation",
    "spectrum",
]
