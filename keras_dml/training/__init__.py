"""Training, measurement and publication of models.

`train` and `train_folder` train a model on recordings of people. `fit` trains a network and resumes
it, `People` contains recordings with their people, `measure` evaluates a model on them, and
`publish` writes a trained model with its card and page into a folder of the zoo. Names load on
first use.
"""

from keras_dml import _lazy

_HOME = {
    "Fitted": "_fit",
    "Optimization": "_fit",
    "People": "people",
    "Runs": "runs",
    "Trained": "own._train",
    "build_card": "_card",
    "export_row": "_card",
    "figure_files": "_publish",
    "fit": "_fit",
    "folds": "people",
    "publish": "_publish",
    "train": "own._train",
    "train_folder": "own.files",
    "training_record": "_card",
    "update": "_publish",
    "versions": "_card",
    "without_optimizer": "_publish",
    "write_json": "runs",
}
_SUBMODULES = (
    "answers",
    "augment",
    "discriminants",
    "fronts",
    "golden",
    "measure",
    "page",
    "people",
    "pooled",
    "runs",
    "trials",
)

__all__ = [*_HOME]

__getattr__, __dir__ = _lazy.attach(__name__, _HOME, _SUBMODULES)
