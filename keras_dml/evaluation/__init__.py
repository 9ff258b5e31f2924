"""Figures from scores and embeddings: verification, identification, imposters, retrieval,
clustering, and the protocols that draw trials.

NumPy, SciPy and scikit-learn only: nothing here loads Keras, but for the distances of
`keras_dml.distances` that `retrieval` takes. Scores are distances: small is near, a trial is
accepted where `score <= threshold`; a similarity S enters as -S. Names load on first use.
"""

from __future__ import annotations

import importlib

_HOME = {
    "EqualErrorRate": "_equal_error_rate",
    "equal_error_rate": "_equal_error_rate",
    "FarThreshold": "_thresholds",
    "TarAtFar": "_thresholds",
    "threshold_at_far": "_thresholds",
    "Verification": "_verification",
    "verification": "_verification",
    "Identification": "_identification",
    "identification": "_identification",
    "Imposters": "_imposters",
    "imposters": "_imposters",
    "Retrieval": "_retrieval",
    "retrieval": "_retrieval",
    "Clustering": "_clustering",
    "clustering": "_clustering",
    "embedding_clustering": "_clustering",
    "paper_protocol": "protocol",
    "session_protocol": "protocol",
    "split_subjects": "splits",
}
_SUBMODULES = ("protocol", "splits")

__all__ = [*_HOME, *_SUBMODULES]


def __getattr__(name):
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(
        f"module `{__name__}` has no attribute `{name}`. It offers {', '.join(__all__)}."
    )


def __dir__():
    return sorted(__all__)
