"""Exports the models of the zoo as SavedModels and measures them.

Writes MODEL_saved_model folders, and the table of size, latency, drift and change in AUC (for
classifiers: in accuracy) into export/README.md. The change in AUC needs the recordings
(zoo/recordings.py documents their location).

Example: python export/saved_model.py gait_qp_wl
"""

import pathlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from export import report

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main(arguments: list[str] | None = None) -> None:
    """Runs the script.

    Args:
        arguments: Arguments of the command line; None: those of the process.
    """
    sys.path.insert(0, str(ROOT))  # for `zoo`, `tfds_builders` and this folder, if run as a file
    from export.arguments import parser

    options = parser(__doc__).parse_args(arguments)

    from export import report
    from keras_dml import progress, zoo

    options.out.mkdir(parents=True, exist_ok=True)
    names = options.models or zoo.list_models()
    rows = [
        export_model(name, options.out) for name in progress.track(names, "export to SavedModel")
    ]
    print(report.write_table(rows))
    if options.cards:
        report.write_cards(rows)


def export_model(name: str, out: pathlib.Path) -> "report.Row":
    """Exports one model and returns its row of the table.

    Args:
        name: Zoo model.
        out: Folder for the SavedModel.
    """
    import numpy as np

    from export import quality, report
    from keras_dml import export, inference, inputs, zoo

    model, card = zoo.load(name), zoo.card(name)
    path = out / f"{name}_saved_model"
    result = export.saved_model(model, path)
    measured, metric = quality.test_recordings(card), quality.metric_name(card)
    if measured is None:
        return report.Row(name, result, None, metric)
    loaded = export.signatures.tensorflow().saved_model.load(str(path)).signatures
    kind = inputs.from_model(model)

    def outputs(signature):
        return np.concatenate(
            [
                next(iter(loaded[signature](**kind.batch([signal])).values())).numpy()
                for signal in measured.signals
            ]
        )

    if metric == "accuracy":
        by_file = quality.accuracy(outputs("classify"), measured)
    else:
        by_file = quality.auc(inference.head_distance(model), outputs("embed"), measured)
    return report.Row(name, result, by_file - quality.by_keras(model, measured, metric), metric)


if __name__ == "__main__":
    main()
