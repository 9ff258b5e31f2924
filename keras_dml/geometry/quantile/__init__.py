"""Distributions of a filter's activations over time, as quantile functions linear between knots."""

from keras_dml.geometry.quantile.function import evaluate, initial_alpha, knots, quantiles

__all__ = ["evaluate", "initial_alpha", "knots", "quantiles"]
