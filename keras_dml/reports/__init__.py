"""Plots of evaluation results, in one style. Names load on first use; nothing here loads Keras."""

from __future__ import annotations

import importlib

_HOME = {
    "save": "style",
    "loss_comparison": "loss_plots",
    "loss_curves": "loss_plots",
    "loss_people": "loss_plots",
    "loss_spread": "loss_plots",
    "loss_sweep": "loss_plots",
    "quantile_curves": "quantile_plots",
    "score_histogram": "verification_plots",
    "scores_table": "verification_plots",
    "verification_curves": "verification_plots",
    "verification_table": "verification_plots",
}
_SUBMODULES = ("loss_plots", "quantile_plots", "style", "verification_plots")

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
