"""Exports the models of the zoo as ONNX files, and compares them with Keras on real recordings.

The names of the folders are MODEL_onnx. The script prints a table with one row per model. The times
are the smallest of four medians of 21 calls on one thread, of the ONNX file and of the float32
TFLite file. The scores are the distances between all pairs of at most 220 recordings, see
`zoo/edge_agreement.py`. A decision flips if only one of the two scores is at or below a threshold
that the file contains. For classifiers of images, a decision is the class with the highest score.
The column contains a dash if the model has no thresholds.

Example: python export/onnx_models.py gait_qp_wl
"""

import dataclasses
import pathlib
import sys
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import keras

    from keras_dml.export import Export

ROOT = pathlib.Path(__file__).resolve().parent.parent
REPEATS = 4  # number of latency measurements, of which the smallest is reported
COLUMNS = (
    "model",
    "size, KB",
    "ms",
    "ms of TFLite",
    "drift, %",
    "recordings",
    "largest difference / stddev",
    "flips",
)


@dataclasses.dataclass(frozen=True)
class Row:
    """Row of the table.

    Attributes:
        name: Name of the model.
        export: Result of the export.
        onnx_ms: Time of one call of `embed.onnx`, in milliseconds.
        tflite_ms: Time of one call of `embed` of the float32 TFLite file, in milliseconds.
        recordings: Number of recordings.
        difference: Largest difference between a score of the file and the score of Keras, divided
            by the standard deviation of the scores.
        flips: Number of decisions that flip.
        decisions: Number of decisions.
    """

    name: str
    export: "Export"
    onnx_ms: float
    tflite_ms: float
    recordings: int
    difference: float
    flips: int
    decisions: int

    def cells(self) -> tuple[str, ...]:
        """Returns the cells of the row as texts, in the order of `COLUMNS`."""
        timed = "an image" if self.export.steps is None else f"{self.export.steps} steps"
        return (
            self.name,
            f"{self.export.bytes / 1000:,.1f}",
            f"{self.onnx_ms:.2f} for {timed}",
            f"{self.tflite_ms:.2f}",
            f"{100 * self.export.drift:.1g}",
            str(self.recordings),
            f"{self.difference:.0e}",
            f"{self.flips} of {self.decisions:,}" if self.decisions else "–",
        )


def main(arguments: list[str] | None = None) -> None:
    """Runs the script.

    Args:
        arguments: Command-line arguments. Default: the arguments of the process.
    """
    # makes `zoo`, `tfds_builders` and this folder importable if this file runs as a script
    sys.path.insert(0, str(ROOT))
    from export.arguments import parser

    options = parser(__doc__, has_cards=False).parse_args(arguments)

    from keras_dml import progress, zoo

    options.out.mkdir(parents=True, exist_ok=True)
    for cells in (COLUMNS, ("---", *["---:"] * (len(COLUMNS) - 1))):
        print(f"| {' | '.join(cells)} |")
    for name in progress.track(options.models or zoo.list_models(), "export to ONNX"):
        print(f"| {' | '.join(export_model(name, options.out).cells())} |", flush=True)


def export_model(name: str, out: pathlib.Path) -> Row:
    """Exports one model, and returns its row of the table.

    Args:
        name: Name of a model of the zoo, whose recordings are available.
        out: Folder in which the files are written.
    """
    from keras_dml import export, zoo
    from keras_dml.export import litert, onnx_files
    from keras_dml.export.trials import trials
    from zoo.edge_agreement import recordings_of

    model, card = zoo.load(name), zoo.card(name)
    folder, tflite = out / f"{name}_onnx", out / f"{name}_float32.tflite"
    result = export.onnx(model, folder)
    export.tflite(model, tflite, None)
    timed = trials(export.signatures.parts(model)[0]).timed
    signals = recordings_of(name)
    expected, actual, decisions = scores(model, card, folder, signals)
    by_keras, by_file = decisions(expected), decisions(actual)
    return Row(
        name=name,
        export=result,
        onnx_ms=min(onnx_files.latency_ms(folder, timed) for _ in range(REPEATS)),
        tflite_ms=min(litert.latency_ms(tflite, timed) for _ in range(REPEATS)),
        recordings=len(signals),
        difference=float(np.abs(actual - expected).max() / expected.std()),
        flips=int((by_keras != by_file).sum()),
        decisions=by_keras.size,
    )


def scores(model: "keras.Model", card: dict, folder: pathlib.Path, signals: list[np.ndarray]):
    """Returns the scores of Keras, the scores of ONNX files, and a function that decides by scores.

    Args:
        model: Model of the zoo.
        card: Card of the model.
        folder: Folder of ONNX files of the model.
        signals: Recordings or images.
    """
    import keras_dml
    from export import quality
    from keras_dml import export
    from keras_dml.export import onnx_files

    embeddings = keras_dml.embed(model, signals, progress=False)
    if quality.metric_name(card) == "accuracy":
        actual = onnx_files.classify(folder, signals)
        return (
            np.asarray(model.head_scores(embeddings)),
            actual,
            lambda values: values.argmax(axis=1),
        )
    distance = quality.device_distance(model) or keras_dml.inference.head_distance(model)
    pairs = np.triu_indices(len(signals), 1)
    expected = np.asarray(distance(embeddings, embeddings))[pairs]
    embeddings = onnx_files.embed(folder, signals)
    actual = onnx_files.distance(folder, embeddings, embeddings)[pairs]
    has_thresholds = card["thresholds"] or card.get("device_thresholds")
    rows = export.contract(folder)["thresholds"] if has_thresholds else []
    thresholds = np.array([row["value"] for row in rows])
    return expected, actual, lambda values: values[:, None] <= thresholds


if __name__ == "__main__":
    main()
