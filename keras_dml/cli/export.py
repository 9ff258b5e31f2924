"""Implements the command `keras-dml export NAME --to FORMAT`, which exports models or galleries."""

import dataclasses
import enum
import pathlib
from typing import Annotated

import typer

from keras_dml.cli import _completion, _exports, _options


class Format(enum.StrEnum):
    """Formats of exported files."""

    tflite = "tflite"
    savedmodel = "savedmodel"
    onnx = "onnx"
    templates = "templates"
    web = "web"
    microcontroller = "microcontroller"


# formats of folders with float32 weights, as the error messages name them
_FOLDERS = {Format.savedmodel: "a SavedModel", Format.onnx: "ONNX files"}


class Quantization(enum.StrEnum):
    """Number types of the weights in a TFLite file."""

    dynamic = "dynamic"
    float32 = "float32"
    float16 = "float16"
    int8 = "int8"


@dataclasses.dataclass(frozen=True)
class FixedShapes:
    """Options that fix the shapes of a TFLite file or the buffers of a C library.

    Attributes:
        steps: Number of time steps of a recording. If None, recordings may have any length, or the
            usual length for a C library.
        gallery_size: Number of embeddings in a gallery. If None, a gallery may have any size.
    """

    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            metavar="N",
            min=1,
            help="Fix the number of time steps of the file's input. The file takes recordings of "
            "up to N steps. Fill the rest of the input with any values. For a C library, N is the "
            "largest number of time steps.",
            show_default="any number, or 512 for the buffers of a C library",
        ),
    ] = None
    gallery_size: Annotated[
        int | None,
        typer.Option(
            "--gallery-size",
            metavar="N",
            min=1,
            help="Fix the number of embeddings in a gallery. Fill the rest of a smaller gallery "
            "with copies of an embedding.",
            show_default="any number",
        ),
    ] = None


def run(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of a model from `keras-dml list`, a .keras file, or a gallery.",
            autocompletion=_completion.complete_models,
        ),
    ],
    to: Annotated[
        Format,
        typer.Option("--to", metavar="FORMAT", help=f"Format of the file: {', '.join(Format)}."),
    ],
    quantization: Annotated[
        Quantization | None,
        typer.Option(
            metavar="TYPE",
            help=f"Number type of the weights in the TFLite file: {', '.join(Quantization)}.",
            show_default="dynamic, or float16 for galleries and if dynamic differs from Keras",
        ),
    ] = None,
    representative: Annotated[
        pathlib.Path | None,
        typer.Option(
            metavar="FILE.npz",
            autocompletion=_completion.complete_paths,
            help="File with about 100 recordings (time, channels) or images like those of the "
            "device. Only int8 needs this file.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="PATH",
            help="File or folder to write.",
            show_default="NAME.tflite, NAME_savedmodel, NAME_onnx, NAME_microcontroller, "
            "NAME_device, NAME_templates.npz or NAME_web",
            autocompletion=_completion.complete_paths,
        ),
    ] = None,
    fixed: FixedShapes = FixedShapes(),
    npm_packages: Annotated[
        str | None,
        typer.Option(
            "--npm-packages",
            metavar="FOLDER",
            help="Folder in which `npm install @litertjs/core` ran. Only --to web needs this "
            "package.",
            show_default="npm downloads it",
            autocompletion=_completion.complete_paths,
        ),
    ] = None,
    far: _options.Far = None,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
) -> None:
    """Export a model or a gallery, and compare the outputs of the exported file with Keras.

    An exported model has the signatures embed and distance. An exported classifier also has the
    signatures score and classify. With --to onnx, each signature is one file in a folder.

    A gallery is exported to a folder for a device. The folder contains the model, the embeddings,
    the threshold, and decide.py, a program that needs only NumPy and LiteRT. With --to templates,
    the templates (stored embeddings) are written to one file, which `keras-dml merge` and
    numpy.load can read.

    With --to web, a model or a gallery is exported to a folder with a web page, which enrolls
    people and decides in the browser. The folder contains no names and no embeddings.

    With --to microcontroller, a model is written as a C99 library with a self-test. The library
    computes embeddings, enrolls people and computes distances.

    Exit status: 0 if the file is written and compared, 2 if nothing is written.

    Example: keras-dml export gait_qp_wl --to tflite --quantization float16
    """
    if to is Format.web:
        from keras_dml.cli import _export_web

        if quantization or representative or fixed.gallery_size:
            raise typer.BadParameter(
                "a web page has float32 weights and a fixed gallery size. Leave out "
                "--quantization, --representative and --gallery-size."
            )
        _export_web.write(
            name, out, access, far=far, steps=fixed.steps, packages=npm_packages, as_json=as_json
        )
        return
    if npm_packages is not None:
        raise typer.BadParameter("--npm-packages needs --to web.")
    if to in _FOLDERS and (quantization or representative):
        raise typer.BadParameter(
            f"the weights of {_FOLDERS[to]} are always float32. Use --quantization and "
            "--representative only with --to tflite."
        )
    if to is Format.microcontroller:
        if quantization or representative or fixed.gallery_size is not None:
            raise typer.BadParameter(
                "a C library has int8 weights and a gallery of any size. Leave out "
                "--quantization, --representative and --gallery-size."
            )
    elif to is not Format.tflite and fixed != FixedShapes():
        raise typer.BadParameter(
            "--gallery-size needs --to tflite, and --steps needs --to tflite, --to web or --to "
            "microcontroller."
        )
    if quantization is Quantization.int8 and representative is None:
        raise typer.BadParameter(
            "--quantization int8 needs --representative FILE.npz. The file must contain about 100 "
            "recordings (time, channels) or images that are similar to those of the device. "
            "--quantization dynamic needs no such file."
        )
    from keras_dml import _files
    from keras_dml.cli import _console, _export_gallery, _extras

    if _export_gallery.is_gallery(name):
        if fixed != FixedShapes():
            raise typer.BadParameter(
                f"--steps and --gallery-size need a model, and {name} is a gallery."
            )
        if to in _FOLDERS or to is Format.microcontroller:
            raise typer.BadParameter(
                f"a gallery cannot be exported as {_FOLDERS.get(to, 'a C library')}. Use --to "
                "tflite or --to templates."
            )
        if to is Format.templates:
            if quantization or representative or far is not None:
                raise typer.BadParameter(
                    "templates contain no model and no threshold. Leave out --quantization, "
                    "--representative and --far."
                )
            _export_gallery.write_templates(name, out, access, as_json=as_json)
            return
        weights = _weights(quantization, "float16")
        _export_gallery.write(name, out, weights, representative, access, far=far, as_json=as_json)
        return
    if to is Format.templates:
        raise typer.BadParameter(f"--to templates needs a gallery, but {name} is not a gallery.")
    if far is not None:
        raise typer.BadParameter(f"--far needs a gallery, but {name} is not a gallery.")
    if access != _options.Access():
        raise typer.BadParameter(f"--key and --keys need a gallery, but {name} is not a gallery.")
    from keras_dml.cli import _answers, _models
    from keras_dml.export import onnx_files

    check_place = {
        Format.tflite: _files.replaceable_file,
        Format.savedmodel: _files.replaceable_saved_model,
        Format.onnx: _files.replaceable_onnx,
        Format.microcontroller: _files.replaceable_c_library,
    }[to]
    if out is not None:
        check_place(out)
    model_name = _models.resolve(name)  # unknown models fail before a backend is loaded
    _extras.require_keras(_exports.SUBJECT)
    if to is Format.onnx:
        onnx_files.require()
    if out is None:
        out = str(_default_path(name, to))
        check_place(out)
    out = pathlib.Path(out)
    with (
        _console.stoppable(f"Stopped. {out} is not changed. Run the command again."),
        _answers.spell_errors(_exports.NAMES),
    ):
        recordings = None if representative is None else _exports.read_recordings(representative)
        with _console.stage(f"load {name}"):
            from keras_dml import export, zoo

            model = zoo.load(model_name)
        with _console.stage(f"write {out} and compare it with Keras"):
            if to is Format.microcontroller:
                result = export.microcontroller(model, out, steps=fixed.steps)
            elif to is Format.savedmodel:
                result = export.saved_model(model, out)
            elif to is Format.onnx:
                result = export.onnx(model, out)
            else:
                weights = _weights(quantization, "auto")
                result = export.tflite(
                    model,
                    out,
                    weights,
                    recordings,
                    steps=fixed.steps,
                    gallery=fixed.gallery_size,
                )
    if as_json:
        _console.print_json({**dataclasses.asdict(result), "path": str(result.path)})
        return
    is_library = to is Format.microcontroller
    facts = _facts_of_library(result) if is_library else _facts_of_file(result, model)
    _console.print_table((), facts, header=False)
    for note in result.notes:
        _console.note(f"Note: {note}")


def _facts_of_file(result, model):
    """Returns names and values that describe a TFLite file or a SavedModel."""
    from keras_dml.export import signatures

    timed = "an image" if result.steps is None else f"{result.steps} steps"
    facts = [
        ("written", str(result.path)),
        ("weights", result.quantization or "float32"),
        ("size", f"{result.bytes / 1000:,.0f} kB"),
        ("latency", f"{result.latency_ms:.2g} ms for {timed}"),
        ("drift", f"{100 * result.drift:.2g} % of the embeddings' RMS"),
        ("signatures", ", ".join(signatures.described(model))),
    ]
    if result.flips is not None:
        facts.append(("decisions that differ", f"{result.flips:,} of {result.decisions:,}"))
    return facts


def _facts_of_library(result):
    """Returns names and values that describe a C library."""
    return [
        ("written", str(result.path)),
        ("weights", result.weights),
        ("flash", f"{result.flash_bytes:,} bytes of tables, and about 4,000 bytes of code"),
        ("static RAM", f"{result.ram_bytes:,} bytes"),
        ("embedding", f"{4 * result.embedding:,} bytes"),
        ("operations", f"{result.macs:,} multiply-accumulates for {result.steps} steps"),
        ("longest", f"{result.most_steps:,} steps"),
        ("drift", f"{100 * result.drift:.2g} % of the embeddings' RMS"),
        ("test", f"cd {result.path} && cc -std=c99 -o selftest *.c -lm && ./selftest"),
    ]


def _weights(quantization, default):
    """Converts the option --quantization to the argument `quantization` of the library."""
    if quantization is None:
        return default
    return None if quantization is Quantization.float32 else quantization.value


def _default_path(name, to):
    stem = pathlib.Path(name).stem
    return pathlib.Path(f"{stem}.tflite" if to is Format.tflite else f"{stem}_{to.value}")
