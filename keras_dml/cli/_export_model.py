"""Exports a model to a file or a folder."""

import dataclasses
import pathlib
from collections.abc import Callable
from typing import Any, NamedTuple

from keras_dml import _files, recordings
from keras_dml.cli import _console, _exports, _extras
from keras_dml.cli._export_formats import Format, weights


class Target(NamedTuple):
    """Functions that write a model in a format.

    Attributes:
        default: Default name of the file or folder, with `{name}` for the name of the model.
        check_place: Function that checks the path to write.
        write: Function that writes a model. Takes the model, the path, the `FormatOptions`, and the
            recordings that these options name, or None.
        facts: Function that returns names and values that describe the result. Takes the result and
            the model.
    """

    default: str
    check_place: Callable[..., Any]
    write: Callable[..., Any]
    facts: Callable[..., Any]


def write(name, to, out, options, *, as_json):
    """Exports a model, and prints facts about the exported file or folder.

    Args:
        name: Name or path of the model.
        to: `Format` of the file.
        out: Path to write. Default: see `Target.default`.
        options: `FormatOptions` that `_export_formats.check` accepts.
        as_json: Whether to print a JSON object.
    """
    from keras_dml.cli import _answers, _models
    from keras_dml.export import onnx_files

    target = TARGETS[to]
    if out is not None:
        target.check_place(out)
    model_name = _models.resolve(name)  # unknown models fail before a backend is loaded
    _extras.require_keras(_exports.SUBJECT)
    if to is Format.onnx:
        onnx_files.require()
    if out is None:
        out = target.default.format(name=pathlib.Path(name).stem)
        target.check_place(out)
    out = pathlib.Path(out)
    with (
        _console.stoppable(f"Stopped. {out} is not changed. Run the command again."),
        _answers.spell_errors(_exports.NAMES),
    ):
        listing = None
        if options.recordings is not None:
            listing = recordings.folder(options.recordings)
        inputs = None
        if options.representative is not None:
            inputs = _exports.read_recordings(options.representative)
        with _console.stage(f"load {name}"):
            from keras_dml import zoo

            model = zoo.load(model_name)
        if listing is not None:
            inputs = _exports.read_people(listing, model, options.reading, options.steps)
        with _console.stage(f"write {out} and compare it with Keras"):
            result = target.write(model, out, options, inputs)
    if as_json:
        _console.print_json({**dataclasses.asdict(result), "path": str(result.path)})
        return
    _console.print_table((), target.facts(result, model), header=False)
    for note in result.notes:
        _console.note(f"Note: {note}")


def _write_tflite(model, out, options, recordings):
    from keras_dml import export

    quantization = weights(options.quantization, "auto")
    shapes = {"steps": options.steps, "gallery": options.gallery_size}
    return export.tflite(model, out, quantization, recordings, **shapes)


def _write_saved_model(model, out, options, _):
    from keras_dml import export

    return export.saved_model(model, out)


def _write_onnx(model, out, options, _):
    from keras_dml import export

    return export.onnx(model, out)


def _write_bundle(model, out, options, labeled):
    from keras_dml import export

    recordings, people = labeled or (None, None)
    gallery = {} if options.gallery_size is None else {"gallery": options.gallery_size}
    return export.bundle(
        model,
        out,
        steps=options.steps,
        quantization=weights(options.quantization, None),
        recordings=recordings,
        people=people,
        **gallery,
    )


def _write_stream(model, out, options, _):
    from keras_dml import export

    return export.stream(
        model,
        out,
        window=options.window,
        block=options.block,
        quantization=weights(options.quantization, None),
        gallery=options.gallery_size,
    )


def _write_library(model, out, options, _):
    from keras_dml import export

    return export.microcontroller(model, out, steps=options.steps, tflm=options.tflm)


def _facts(result, signatures):
    """Returns names and values that describe an `Export`."""
    timed = "an image" if result.steps is None else f"{result.steps} steps"
    facts = [
        ("written", str(result.path)),
        ("weights", result.quantization or "float32"),
        ("size", f"{result.bytes / 1000:,.0f} kB"),
        ("latency", f"{result.latency_ms:.2g} ms for {timed}"),
        ("drift", f"{100 * result.drift:.2g} % of the embeddings' RMS"),
        ("signatures", ", ".join(signatures)),
    ]
    if result.flips is not None:
        facts.append(("decisions that differ", f"{result.flips:,} of {result.decisions:,}"))
    return facts


def _facts_of_model(result, model):
    from keras_dml.export import signatures

    return _facts(result, signatures.described(model))


def _facts_of_bundle(result, model):
    return [*_facts_of_model(result, model), ("test", f"python {result.path}/check.py")]


def _facts_of_stream(result, model):
    return _facts(result, ("step(signal, state)", "read(state)", "distance(embedding, gallery)"))


def _facts_of_library(result, model):
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


TARGETS = {
    Format.tflite: Target("{name}.tflite", _files.replaceable_file, _write_tflite, _facts_of_model),
    Format.savedmodel: Target(
        "{name}_savedmodel", _files.replaceable_saved_model, _write_saved_model, _facts_of_model
    ),
    Format.onnx: Target("{name}_onnx", _files.replaceable_onnx, _write_onnx, _facts_of_model),
    Format.bundle: Target(
        "{name}_bundle", _files.replaceable_bundle, _write_bundle, _facts_of_bundle
    ),
    Format.stream: Target(
        "{name}_stream.tflite", _files.replaceable_file, _write_stream, _facts_of_stream
    ),
    Format.microcontroller: Target(
        "{name}_microcontroller",
        _files.replaceable_c_library,
        _write_library,
        _facts_of_library,
    ),
}
