from . import chunks as chunks
from . import namespaces as namespaces
from . import numerics as numerics
from . import potato_scores as potato_scores
from . import prototypes as prototypes
from . import quantile as quantile
from . import signals as signals
from . import similarity as similarity
from . import spd as spd
from . import two_covariance as two_covariance
from . import vector as vector
from . import weights as weights
from .quantile import wasserstein as wasserstein

__all__ = [
    "chunks",
    "namespaces",
    "numerics",
    "potato_scores",
    "prototypes",
    "quantile",
    "signals",
    "similarity",
    "spd",
    "two_covariance",
    "vector",
    "wasserstein",
    "weights",
]
