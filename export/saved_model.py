"""Exports the models of the zoo as SavedModels and measures them.

The names of the folders are MODEL_saved_model. The script also writes a table into
export/README.md. For each folder, the table contains the size, the latency, the drift, the change
in AUC (for classifiers: in accuracy) and the number of decisions that flip. The last two figures
need the recordings. The docstring of zoo/recordings.py says where these recordings are stored.

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
        arguments: Command-line arguments. Default: the arguments of the process.
    """
    # makes `zoo`, `tfds_builders` and this folder importable if this file runs as a script
    sys.path.insert(0, str(ROOT))
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
        name: Name of a model of the zoo.
        out: Folder in which the SavedModel is written.
    """
    from export import agreement, quality, report, runtimes
    from keras_dml import export, inference, zoo

    model, card = zoo.load(name), zoo.card(name)
    path = out / f"{name}_saved_model"
    result = export.saved_model(model, path)
    measured, metric = quality.test_recordings(card), quality.metric_name(card)
    if measured is None:
        return report.Row(name, result, None, metric)
    file = runtimes.SavedModel().load(path)
    signals = agreement.recordings_of(card)
    reference = agreement.by_keras(model, card, signals, on_device=False)
    compared = agreement.compare(
        agreement.by_runtime(file, signals, reference.is_classifier), reference
    )
    if metric == "accuracy":
        by_file = quality.accuracy(file.classify(measured.signals), measured)
    else:
        z = file.embed(measured.signals)
        by_file = quality.auc(inference.head_distance(model), z, measured)
    change = by_file - quality.by_keras(model, measured, metric)
    return report.Row(name, result, change, metric, agreement=compared)


if __name__ == "__main__":
    main()
