"""Computes quantile functions, which represent distributions and are linear between shared knots
(Abdelwahab2019)."""

import lazy_loader

from keras_dml.geometry.quantile.function import evaluate, initial_alpha, knots, quantiles

_SUBMODULES = ("barycenter", "divergences", "function", "order", "pairwise", "plan", "wasserstein")

__all__ = ["evaluate", "initial_alpha", "knots", "quantiles"]
__getattr__, *_ = lazy_loader.attach(__name__, _SUBMODULES)


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES])
