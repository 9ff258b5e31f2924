"""Distributions as quantile functions that are linear between shared knots (Abdelwahab2019)."""

from keras_dml.geometry.quantile.function import evaluate, initial_alpha, knots, quantiles

__all__ = ["evaluate", "initial_alpha", "knots", "quantiles"]
