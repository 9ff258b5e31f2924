from . import calibration_plots as calibration_plots
from . import claim_plots as claim_plots
from . import explanation_plots as explanation_plots
from . import identification_plots as identification_plots
from . import loss_plots as loss_plots
from . import page as page
from . import protocol_plots as protocol_plots
from . import quantile_plots as quantile_plots
from . import style as style
from . import threshold_plots as threshold_plots
from . import verification_plots as verification_plots
from .calibration_plots import cross_entropy as cross_entropy
from .calibration_plots import tippett as tippett
from .claim_plots import claims as claims
from .explanation_plots import explanation as explanation
from .identification_plots import identifications as identifications
from .loss_plots import loss_comparison as loss_comparison
from .loss_plots import loss_curves as loss_curves
from .loss_plots import loss_people as loss_people
from .loss_plots import loss_spread as loss_spread
from .loss_plots import loss_sweep as loss_sweep
from .page import Picture as Picture
from .page import Section as Section
from .page import write_page as write_page
from .protocol_plots import embedding_maps as embedding_maps
from .protocol_plots import embedding_plane as embedding_plane
from .protocol_plots import person_distances as person_distances
from .protocol_plots import protocol_curves as protocol_curves
from .quantile_plots import quantile_curves as quantile_curves
from .style import save as save
from .threshold_plots import error_rates_by_threshold as error_rates_by_threshold
from .verification_plots import score_histogram as score_histogram
from .verification_plots import scores_table as scores_table
from .verification_plots import verification_curves as verification_curves
from .verification_plots import verification_table as verification_table

__all__ = [
    "Picture",
    "Section",
    "calibration_plots",
    "claim_plots",
    "claims",
    "cross_entropy",
    "embedding_maps",
    "embedding_plane",
    "error_rates_by_threshold",
    "explanation",
    "explanation_plots",
    "identification_plots",
    "identifications",
    "loss_comparison",
    "loss_curves",
    "loss_people",
    "loss_plots",
    "loss_spread",
    "loss_sweep",
    "page",
    "person_distances",
    "protocol_curves",
    "protocol_plots",
    "quantile_curves",
    "quantile_plots",
    "save",
    "score_histogram",
    "scores_table",
    "style",
    "threshold_plots",
    "tippett",
    "verification_curves",
    "verification_plots",
    "verification_table",
    "write_page",
]
