"""Writes the float32 TFLite files of published models, which `keras_dml.edge` loads by name.

The file of a model is `zoo/NAME/model.tflite`. Its SHA-256 becomes the entry `edge` of the card.
Run `python -m zoo.edge_files gait_lda gait_qp_wl` from the checkout.
"""

from typing import Annotated

import typer

from keras_dml import export, training, zoo
from keras_dml.zoo import reading
from zoo import evidence

FILE = "model.tflite"

Names = Annotated[
    list[str] | None,
    typer.Argument(help="Models of the zoo. Default: all models that take recordings."),
]


def main(names: Names = None):
    """Writes the TFLite files of published models, and adds their SHA-256 to the cards."""
    total = 0
    for name in names or names_of_recordings():
        folder = evidence.folder(name)
        exported = export.tflite(folder, folder / FILE, quantization=None)
        entry = {"file": FILE, "sha256": reading.sha256(exported.path)}
        training.update(folder, edge=entry)
        total += exported.bytes
        print(f"{name}: {exported.bytes:,} bytes, drift {exported.drift:.2g}", flush=True)
    print(f"all files: {total:,} bytes")


def names_of_recordings() -> list[str]:
    """Returns the names of the models that take recordings of sequences or sound."""
    return [name for name in zoo.list_models() if "rate_hz" in zoo.card(name)["input"]]


if __name__ == "__main__":
    typer.run(main)
