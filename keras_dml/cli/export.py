"""`keras-dml export NAME --to tflite`: a model, or a gallery, as files for servers or devices."""

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
    templates = "templates"


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
            help="A model of `keras-dml list`, a .keras file, or a gallery.",
            autocompletion=_completion.models,
        ),
    ],
    to: Annotated[Format, typer.Option("--to", help="What to write.")],
    quantization: Annotated[
        Quantization | None,
        typer.Option(
            help="Weights of the TFLite file.",
            show_default="dynamic, or float16 if dynamic drifts from Keras or for a gallery",
        ),
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
            show_default="NAME.tflite; of a gallery the folder NAME_device, or NAME_templates.npz",
            autocompletion=_completion.paths,
        ),
    ] = None,
    far: _options.Far = None,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
):
    """Export a model for a server or a device, and compare the file's outputs with Keras's.

    The file has the signatures embed and distance; that of a classifier also score and classify.
    Of a gallery a folder is written that decides on the device: the model, the people's embeddings
    and threshold, and decide.py, which needs NumPy and LiteRT alone; or, --to templates, one file
    of its embeddings, which `keras-dml merge` and numpy.load take.

    Exit status: 0 written and compared, 2 nothing was written.

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
    from keras_dml.cli import _console, _export_gallery

    if _export_gallery.is_gallery(name):
        if to is Format.savedmodel:
            raise typer.BadParameter("a gallery is written for a device, --to tflite.")
        if to is Format.templates:
            if quantization or representative or far is not None:
                raise typer.BadParameter(
                    "templates are embeddings alone: no --quantization, --representative or --far."
                )
            _export_gallery.write_templates(name, out, access, as_json=as_json)
            return
        weights = _weights(quantization, "float16")
        _export_gallery.write(name, out, weights, representative, access, far=far, as_json=as_json)
        return
    if to is Format.templates:
        raise typer.BadParameter(f"templates are a gallery's; {name} is none.")
    if far is not None:
        raise typer.BadParameter("--far is the rate of a gallery's threshold; this is a model.")
    if access != _options.Access():
        raise typer.BadParameter("--key and --keys open a gallery; this is a model.")
    from keras_dml.cli import _models

    check_place = _files.replaceable_file if to is Format.tflite else _files.replaceable_saved_model
    if out is not None:
        check_place(out)
    model_name = _models.named(name)  # refuses an unknown model before a backend is loaded
    if out is None:
        out = str(_default_path(name, to))
        check_place(out)
    out = pathlib.Path(out)
    with (
        _console.stoppable(f"Stopped; {out} is as it was. Run the command again."),
        _words.of_commands(_words.EXPORT),
    ):
        recordings = None if representative is None else read_recordings(representative)
        with _console.stage(f"load {name}"):
            from keras_dml import export, zoo

            model = zoo.load(model_name)
        with _console.stage(f"write {out} and compare it with Keras"):
            if to is Format.savedmodel:
                written = export.saved_model(model, out)
            else:
                weights = _weights(quantization, "auto")
                written = export.tflite(model, out, weights, recordings)
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
    for note in written.notes:
        _console.note(f"Note: {note}")


def _weights(quantization, default):
    """Quantization as the library names it."""
    if quantization is None:
        return default
    return None if quantization is Quantization.float32 else quantization.value


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
