"""Exports the models of the zoo as TFLite files and measures the effect of each quantization.

The names of the files are MODEL_QUANTIZATION.tflite. The script also writes a table into
export/README.md. For each file, the table contains the size, the latency, the drift, the change in
AUC (for classifiers: in accuracy) and the number of decisions that flip. int8 files and the last
two figures need the recordings. The docstring of zoo/recordings.py says where these recordings are
stored.

Example: python export/tflite.py gait_qp_wl --quantization dynamic int8
"""

import pathlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from export import report

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUANTIZATIONS = ("float32", "float16", "dynamic", "int8")


def main(arguments: list[str] | None = None) -> None:
    """Runs the script.

    Args:
        arguments: Command-line arguments. Default: the arguments of the process.
    """
    # makes `zoo`, `tfds_builders` and this folder importable if this file runs as a script
    sys.path.insert(0, str(ROOT))
    from export.arguments import parser

    command = parser(__doc__)
    command.add_argument(
        "--quantization",
        nargs="+",
        choices=QUANTIZATIONS,
        default=QUANTIZATIONS,
        help="types of weights to write (default: all)",
    )
    options = command.parse_args(arguments)

    from export import report
    from keras_dml import progress, zoo

    options.out.mkdir(parents=True, exist_ok=True)
    names = options.models or zoo.list_models()
    rows = [
        row
        for name in progress.track(names, "export to TFLite")
        for row in export_model(name, options.out, options.quantization)
    ]
    print(report.write_table(rows))
    if options.cards:
        report.write_cards(rows)


def export_model(name: str, out: pathlib.Path, quantizations: list[str]) -> list["report.Row"]:
    """Exports one model and returns a row of the table for each quantization.

    Args:
        name: Name of a model of the zoo.
        out: Folder in which the files are written.
        quantizations: Types of the weights, each an entry of `QUANTIZATIONS`.
    """
    from export import agreement, judges, quality, report, runtimes
    from keras_dml import export, zoo

    model, card = zoo.load(name), zoo.card(name)
    judge, metric = judges.judge_of(model, card), quality.metric_name(card)
    device_distance = quality.device_distance(model)
    if judge is not None:
        by_keras = judge.by_keras(device_distance)
        by_model_distance = by_keras if device_distance is None else judge.by_keras()
    signals = agreement.recordings_of(card)
    reference = None if signals is None else agreement.by_keras(model, card, signals)
    calibrating = quality.calibrating(card)
    matrices = export.works_on_matrices(model)
    rows = []
    for quantization in quantizations:
        if matrices and quantization in ("dynamic", "int8"):
            print(f"{name}: no {quantization} file, because matrices need 16 bits", file=sys.stderr)
            continue
        if quantization == "int8" and calibrating is None:
            print(f"{name}: no int8 file, because it needs recordings", file=sys.stderr)
            continue
        path = out / f"{name}_{quantization}.tflite"
        form = None if quantization == "float32" else quantization
        result = export.tflite(model, path, form, calibrating)
        change = of_distance = compared = None
        if reference is not None:
            file = runtimes.LiteRT().load(path)
            outputs = agreement.by_runtime(file, signals, reference.is_classifier)
            compared = agreement.compare(outputs, reference)
        if judge is not None:
            figure = judge.by_file(path, form)
            change = None if figure is None else figure - by_keras
            if device_distance is not None:
                of_distance = by_keras - by_model_distance
        rows.append(report.Row(name, result, change, metric, of_distance, compared))
    return rows


if __name__ == "__main__":
    main()
