"""Exports the models of the zoo as SavedModels and measures them.

Writes MODEL_saved_model folders, and the table of size, latency, drift and change in AUC into
export/README.md. The change in AUC needs the recordings (zoo/recordings.py says where they lie).

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
    names = chosen.models or zoo.list()
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

    import keras_dml
    from export import judge, report
    from keras_dml import export, inference, zoo

    model, card = zoo.load(name), zoo.card(name)
    path = out / f"{name}_saved_model"
    made = export.saved_model(model, path)
    judged = judge.judged(card)
    if judged is None:
        return report.Row(name, made, None)
    embed = export.signatures.tensorflow().saved_model.load(str(path)).signatures["embed"]
    answers = [
        embed(signal=signal[None], length=np.array([len(signal)], np.int32))["embedding"].numpy()
        for signal in judged.signals
    ]
    metric, by_keras = inference.head_distance(model), keras_dml.embed(model, judged.signals)
    by_file = judge.auc(metric, np.concatenate(answers), judged)
    change = by_file - judge.auc(metric, by_keras, judged)
    return report.Row(name, made, change)


if __name__ == "__main__":
    main()
