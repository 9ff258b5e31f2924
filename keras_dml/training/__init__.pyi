from . import answers as answers
from . import augment as augment
from . import discriminants as discriminants
from . import fronts as fronts
from . import golden as golden
from . import measure as measure
from . import page as page
from . import people as people
from . import pooled as pooled
from . import runs as runs
from . import trials as trials
from ._card import build_card as build_card
from ._card import export_row as export_row
from ._card import training_record as training_record
from ._card import versions as versions
from ._fit import Fitted as Fitted
from ._fit import Optimization as Optimization
from ._fit import fit as fit
from ._publish import figure_files as figure_files
from ._publish import publish as publish
from ._publish import update as update
from ._publish import without_optimizer as without_optimizer
from .own._train import Trained as Trained
from .own._train import train as train
from .own.files import train_folder as train_folder
from .people import People as People
from .people import folds as folds
from .runs import Runs as Runs
from .runs import write_json as write_json

__all__ = [
    "Fitted",
    "Optimization",
    "People",
    "Runs",
    "Trained",
    "build_card",
    "export_row",
    "figure_files",
    "fit",
    "folds",
    "publish",
    "train",
    "train_folder",
    "training_record",
    "update",
    "versions",
    "without_optimizer",
    "write_json",
]
