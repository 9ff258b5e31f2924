"""Exports the models of the zoo as TFLite files and measures what each quantization costs.

Writes MODEL_QUANTIZATION.tflite files, and the table of size, latency, drift and change in AUC (or,
of models that classify, in accuracy) into export/README.md. The change in AUC needs the recordings
(zoo/recordings.py says where they lie), and so does int8.

Example: python export/tflite.py gait_qp_wl --quantization dynamic int8
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUANTIZATIONS = ("float32", "float16", "dynamic", "int8")


def main(arguments=None):
    """Runs the script.

    Args:
        arguments: What stands on the command line; None: what does.
    """
    sys.path.insert(0, str(ROOT))  # `zoo`, `tfds_builders` and this folder, when run as a file
    from export.arguments import parser

    command = parser(__doc__)
    command.add_argument(
        "--quantization",
        nargs="+",
        choices=QUANTIZATIONS,
        default=QUANTIZATIONS,
        help="what to write (default: all)",
    )
    chosen = command.parse_args(arguments)

    from export import report
    from keras_dml import progress, zoo

    chosen.out.mkdir(parents=True, exist_ok=True)
    names = chosen.models or zoo.list_models()
    rows = [
        row
        for name in progress.track(names, "export to TFLite")
        for row in export_model(name, chosen.out, chosen.quantization)
    ]
    print(report.write_table(rows))
    if chosen.cards:
        report.write_cards(rows)


def export_model(name, out, quantizations):
    """One row of the table for each quantization of a model.

    Args:
        name: Zoo model.
        out: Folder for the files.
        quantizations: Names of `QUANTIZATIONS`.
    """
    from export import judges, quality, report
    from keras_dml import export, zoo

    model, card = zoo.load(name), zoo.card(name)
    judge, metric = judges.of(model, card), quality.metric_name(card)
    another = quality.device_distance(model)
    if judge is not None:
        by_keras = judge.by_keras(another)
        by_own = by_keras if another is None else judge.by_keras()
    calibrating = quality.calibrating(card)
    matrices = export.works_on_matrices(model)
    rows = []
    for quantization in quantizations:
        if matrices and quantization in ("dynamic", "int8"):
            print(f"{name}: no {quantization} file, 8 bits hold no matrices", file=sys.stderr)
            continue
        if quantization == "int8" and calibrating is None:
            print(f"{name}: no int8 file, its ranges need the recordings", file=sys.stderr)
            continue
        path = out / f"{name}_{quantization}.tflite"
        form = None if quantization == "float32" else quantization
        made = export.tflite(model, path, form, calibrating)
        change = of_distance = None
        if judge is not None:
            figure = judge.by_file(path, form)
            change = None if figure is None else figure - by_keras
            of_distance = None if another is None else by_keras - by_own
        rows.append(report.Row(name, made, change, metric, of_distance))
    return rows


if __name__ == "__main__":
    main()
