"""`keras-dml export NAME --to tflite`: a model as a file for servers or devices."""

import dataclasses
import enum
import pathlib
from typing import Annotated

import typer

from keras_dml.cli import _completion, _options, _words


class Format(enum.StrEnum):
    """What can be written."""

    tflite = "tflite"
    savedmodel = "savedmodel"


class Quantization(enum.StrEnum):
    """What the weights of a TFLite file become."""

    dynamic = "dynamic"
    float32 = "float32"
    float16 = "float16"
    int8 = "int8"


def run(
    name: Annotated[
        str,
        typer.Argument(
            help="A model of `keras-dml list`, or a .keras file.", autocompletion=_completion.models
        ),
    ],
    to: Annotated[Format, typer.Option("--to", help="What to write.")],
    quantization: Annotated[
        Quantization | None,
        typer.Option(help="Weights of the TFLite file.", show_default="dynamic"),
    ] = None,
    representative: Annotated[
        pathlib.Path | None,
        typer.Option(
            metavar="FILE.npz",
            autocompletion=_completion.paths,
            help="For int8: some 100 recordings (time, channels), or images, as the device will "
            "see them.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="PATH",
            help="What to write to.",
            show_default="NAME.tflite",
            autocompletion=_completion.paths,
        ),
    ] = None,
    as_json: _options.AsJson = False,
):
    """Export a model for a server or a device, and compare the file's outputs with Keras's.

    The file has the signatures embed and distance; that of a classifier also score and classify.

    Example: keras-dml export gait_qp_wl --to tflite --quantization float16
    """
    if to is Format.savedmodel and (quantization or representative):
        raise typer.BadParameter("a SavedModel is float32; --quantization goes with --to tflite.")
    if quantization is Quantization.int8 and representative is None:
        raise typer.BadParameter(
            "int8 needs --representative FILE.npz: some 100 recordings (time, channels), or "
            "images, as the device will see them. --quantization dynamic needs none."
        )
    from keras_dml import _files
    from keras_dml.cli import _console

    out = str(_default_path(name, to)) if out is None else out
    check_place = _files.replaceable_file if to is Format.tflite else _files.replaceable_saved_model
    check_place(out)
    out = pathlib.Path(out)
    with (
        _console.stoppable(f"Stopped; {out} is as it was. Run the command again."),
        _words.of_commands(_words.EXPORT),
    ):
        recordings = None if representative is None else read_recordings(representative)
        with _console.stage(f"load {name}"):
            from keras_dml import export, zoo

            model = zoo.load(name)
        with _console.stage(f"write {out} and compare it with Keras"):
            if to is Format.savedmodel:
                written = export.saved_model(model, out)
            else:
                weights = None if quantization is Quantization.float32 else quantization
                chosen = "dynamic" if quantization is None else weights and weights.value
                written = export.tflite(model, out, chosen, recordings)
    if as_json:
        _console.json_object({**dataclasses.asdict(written), "path": str(written.path)})
        return
    timed = "an image" if written.steps is None else f"{written.steps} steps"
    facts = [
        ("written", str(written.path)),
        ("weights", written.quantization or "float32"),
        ("size", f"{written.bytes / 1000:,.0f} kB"),
        ("latency", f"{written.latency_ms:.2g} ms for {timed}"),
        ("drift", f"{100 * written.drift:.2g} % of the embeddings' RMS"),
        ("signatures", ", ".join(export.signatures.described(model))),
    ]
    _console.table((), facts, header=False)


def read_recordings(path):
    """The arrays of an `.npz` file, in the order of their names.

    Raises:
        ValueError: If it is not a `.npz` file of numbers.
        FileNotFoundError: If there is no such file.
    """
    import numpy as np

    from keras_dml import _arrays
    from keras_dml.zoo import archive

    with open(path, "rb") as file:
        try:
            names = archive.check(file)
            if not names:
                raise ValueError("it is empty")
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                return [_arrays.real(f"`{key}`", arrays[key]) for key in sorted(arrays)]
        except Exception as error:  # as of any archive, and of arrays within
            raise ValueError(
                f"{path} is no .npz file of recordings: {archive.first_line(error)} Write one with "
                "numpy.savez(path, *recordings), each of shape (time, channels), or images "
                "(height, width, channels)."
            ) from error


def _default_path(name, to):
    stem = pathlib.Path(name).stem
    return pathlib.Path(f"{stem}.tflite" if to is Format.tflite else f"{stem}_savedmodel")
