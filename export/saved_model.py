"""Exports the models of the zoo as SavedModels and measures them.

Writes MODEL_saved_model folders, and the table of size, latency, drift and change in AUC (or, of
models that classify, in accuracy) into export/README.md. The change in AUC needs the recordings
(zoo/recordings.py says where they lie).

Example: python export/saved_model.py gait_qp_wl
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main(arguments=None):
    """Runs the script.

    Args:
        arguments: What stands on the command line; None: what does.
    """
    sys.path.insert(0, str(ROOT))  # `zoo`, `tfds_builders` and this folder, when run as a file
    from export.arguments import parser

    chosen = parser(__doc__).parse_args(arguments)

    from export import report
    from keras_dml import progress, zoo

    chosen.out.mkdir(parents=True, exist_ok=True)
    names = chosen.models or zoo.list_models()
    rows = [
        export_model(name, chosen.out) for name in progress.track(names, "export to SavedModel")
    ]
    print(report.write_table(rows))
    if chosen.cards:
        report.write_cards(rows)


def export_model(name, out):
    """The row of the table for one model.

    Args:
        name: Zoo model.
        out: Folder for the SavedModel.
    """
    import numpy as np

    from export import quality, report
    from keras_dml import export, inference, inputs, zoo

    model, card = zoo.load(name), zoo.card(name)
    path = out / f"{name}_saved_model"
    made = export.saved_model(model, path)
    measured, metric = quality.test_recordings(card), quality.metric_name(card)
    if measured is None:
        return report.Row(name, made, None, metric)
    loaded = export.signatures.tensorflow().saved_model.load(str(path)).signatures
    taken = inputs.from_model(model)

    def answers(signature):
        return np.concatenate(
            [
                next(iter(loaded[signature](**taken.batch([one])).values())).numpy()
                for one in measured.signals
            ]
        )

    if metric == "accuracy":
        by_file = quality.accuracy(answers("classify"), measured)
    else:
        by_file = quality.auc(inference.head_distance(model), answers("embed"), measured)
    return report.Row(name, made, by_file - quality.by_keras(model, measured, metric), metric)


if __name__ == "__main__":
    main()
