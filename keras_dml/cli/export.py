"""Implements the command `keras-dml export NAME --to FORMAT`, which exports models or galleries."""

from typing import Annotated

import typer

from keras_dml.cli import _completion, _export_formats, _options


def run(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of a model from `keras-dml list`, a .keras file, or a gallery.",
            autocompletion=_completion.complete_models,
        ),
    ],
    to: Annotated[
        _export_formats.Format,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help=f"Format of the file: {', '.join(_export_formats.Format)}.",
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="PATH",
            help="File or folder to write.",
            show_default="NAME.tflite, NAME_stream.tflite, NAME_savedmodel, NAME_onnx, "
            "NAME_bundle, NAME_microcontroller, NAME_device, NAME_templates.npz or NAME_web",
            autocompletion=_completion.complete_paths,
        ),
    ] = None,
    options: _export_formats.FormatOptions = _export_formats.FormatOptions(),
    as_json: _options.AsJson = False,
) -> None:
    """Export a model or a gallery, and compare the outputs of the exported file with Keras.

    An exported model has the signatures embed and distance. An exported classifier also has the
    signatures score and classify. With --to onnx, each signature is one file in a folder.

    With --to bundle, a model is written to a folder with everything that the program of a device
    needs: a TFLite file, thresholds, test values and examples in five languages. With --recordings,
    the thresholds are measured on these recordings. Recordings longer than --steps are cut.

    With --to stream, a model is written as a TFLite file that receives a recording in blocks. The
    device can read an embedding after each block.

    A gallery is exported to a folder for a device. The folder contains the model, the embeddings,
    the threshold, and decide.py, a program that needs only NumPy and LiteRT. With --to templates,
    the templates (stored embeddings) are written to one file, which `keras-dml merge` and
    numpy.load can read.

    With --to web, a model or a gallery is exported to a folder with a web page, which enrolls
    people and decides in the browser. The folder contains no names and no embeddings.

    With --to microcontroller, a model is written as a C99 library with a self-test. The library
    computes embeddings, enrolls people and computes distances. With --tflm, TensorFlow Lite Micro
    can compute the convolutions.

    Exit status: 0 if the file is written and compared, 2 if nothing is written.

    Example: keras-dml export gait_qp_wl --to tflite --quantization float16
    """
    from keras_dml.cli import _export_gallery, _export_model, _export_web

    is_gallery = _export_gallery.is_gallery(name)
    _export_formats.check(name, to, options, is_gallery)
    if to is _export_formats.Format.web:
        _export_web.write(name, out, options, is_gallery, as_json=as_json)
    elif not is_gallery:
        _export_model.write(name, to, out, options, as_json=as_json)
    elif to is _export_formats.Format.templates:
        _export_gallery.write_templates(name, out, options.access, as_json=as_json)
    else:
        _export_gallery.write(
            name,
            out,
            _export_formats.weights(options.quantization, "float16"),
            options.representative,
            options.access,
            far=options.far,
            as_json=as_json,
        )
