"""Plots of evaluation results in one style, and an HTML page that contains them.

Names load on first use. This package does not load Keras.
"""

from keras_dml import _lazy

_HOME = {
    "save": "style",
    "Picture": "page",
    "Section": "page",
    "write_page": "page",
    "claims": "claim_plots",
    "explanation": "explanation_plots",
    "identifications": "identification_plots",
    "loss_comparison": "loss_plots",
    "loss_curves": "loss_plots",
    "loss_people": "loss_plots",
    "loss_spread": "loss_plots",
    "loss_sweep": "loss_plots",
    "embedding_maps": "protocol_plots",
    "embedding_plane": "protocol_plots",
    "person_distances": "protocol_plots",
    "protocol_curves": "protocol_plots",
    "quantile_curves": "quantile_plots",
    "score_histogram": "verification_plots",
    "scores_table": "verification_plots",
    "verification_curves": "verification_plots",
    "verification_table": "verification_plots",
}
_SUBMODULES = (
    "claim_plots",
    "explanation_plots",
    "identification_plots",
    "loss_plots",
    "page",
    "protocol_plots",
    "quantile_plots",
    "style",
    "verification_plots",
)

__all__ = [*_HOME, *_SUBMODULES]
__getattr__, __dir__ = _lazy.attach(__name__, _HOME, _SUBMODULES)
