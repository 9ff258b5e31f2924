"""Defines the formats of `keras-dml export`, and which options each format accepts."""

import dataclasses
import enum
import pathlib
from collections.abc import Mapping
from typing import Annotated

import typer

from keras_dml.cli import _completion, _options


class Format(enum.StrEnum):
    """Formats of exported files."""

    tflite = "tflite"
    savedmodel = "savedmodel"
    onnx = "onnx"
    bundle = "bundle"
    stream = "stream"
    templates = "templates"
    web = "web"
    microcontroller = "microcontroller"


class Quantization(enum.StrEnum):
    """Number types of the weights in a TFLite file."""

    dynamic = "dynamic"
    float32 = "float32"
    float16 = "float16"
    int8 = "int8"


def _count(name, help, default):
    """Returns an option whose value is a number of steps or embeddings."""
    return typer.Option(name, metavar="N", min=1, help=help, show_default=default)


@dataclasses.dataclass(frozen=True)
class FormatOptions:
    """Options of `keras-dml export` that only some formats accept.

    Attributes:
        quantization: Number type of the weights. If None, each format has a default.
        representative: File with recordings like those of the device.
        steps: Number of time steps of a recording.
        gallery_size: Number of embeddings in a gallery.
        window: Number of time steps that an embedding of a stream describes.
        block: Number of time steps of one call of a stream.
        recordings: Folder of recordings with which the thresholds of a bundle are measured.
        reading: Options that say how the files in this folder are read.
        tflm: Whether a C library contains a file for TensorFlow Lite Micro.
        npm_packages: Folder in which `npm install @litertjs/core` ran.
        far: False accept rate of the exported threshold of a gallery.
        access: Keys of an encrypted gallery.
    """

    quantization: Annotated[
        Quantization | None,
        typer.Option(
            metavar="TYPE",
            help=f"Number type of the weights in the TFLite file: {', '.join(Quantization)}.",
            show_default="dynamic, or float16 for galleries and if dynamic differs from Keras. "
            "float32 for bundles and streams",
        ),
    ] = None
    representative: Annotated[
        pathlib.Path | None,
        typer.Option(
            metavar="FILE.npz",
            autocompletion=_completion.complete_paths,
            help="File with about 100 recordings (time, channels) or images like those of the "
            "device. Only int8 needs this file.",
        ),
    ] = None
    steps: Annotated[
        int | None,
        _count(
            "--steps",
            "Fix the number of time steps of the file's input. The file takes recordings of up to "
            "N steps. Fill the rest of the input with any values. For a C library, N is the "
            "largest number of time steps. Bundles need this option.",
            "any number, or 512 for the buffers of a C library",
        ),
    ] = None
    gallery_size: Annotated[
        int | None,
        _count(
            "--gallery-size",
            "Fix the number of embeddings in a gallery. Fill the rest of a smaller gallery with "
            "copies of an embedding.",
            "any number, or 64 for bundles",
        ),
    ] = None
    window: Annotated[
        int | None,
        _count("--window", "Number of time steps that an embedding of a stream describes.", False),
    ] = None
    block: Annotated[
        int | None,
        _count(
            "--block",
            "Number of time steps of each call of a stream. The window must be a multiple of N.",
            False,
        ),
    ] = None
    recordings: Annotated[
        str | None,
        typer.Option(
            "--recordings",
            metavar="FOLDER",
            help="Measure the thresholds of a bundle on recordings of people who were not used to "
            "train the model: FOLDER/PERSON/FILES or FOLDER/PERSON/SESSION/FILES, or a csv with "
            "the columns path and person. Only dynamic weights need this folder.",
            show_default="the thresholds of the model's card",
            autocompletion=_completion.complete_paths,
        ),
    ] = None
    reading: _options.Reading = _options.Reading()
    tflm: Annotated[
        bool,
        typer.Option(
            "--tflm",
            help="Also write the convolutions of a C library as trunk.tflite for TensorFlow Lite "
            "Micro.",
        ),
    ] = False
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
    ] = None
    far: _options.Far = None
    access: _options.Access = _options.Access()


@dataclasses.dataclass(frozen=True)
class Accepted:
    """Options that a format accepts.

    Attributes:
        options: Names of fields of `FormatOptions`.
        required: Names of options without which nothing can be exported.
        quantizations: Dict from each quantization of the format to the name of the option that it
            needs, or None.
    """

    options: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    quantizations: Mapping[Quantization, str | None] = dataclasses.field(default_factory=dict)


FLOATS = {Quantization.float32: None, Quantization.float16: None}
ALL = {**FLOATS, Quantization.dynamic: None, Quantization.int8: "representative"}
READING = tuple(field.name for field in dataclasses.fields(_options.Reading))
ACCESS = tuple(field.name for field in dataclasses.fields(_options.Access))

MODEL_FORMATS = {
    Format.tflite: Accepted(
        ("quantization", "representative", "steps", "gallery_size"), quantizations=ALL
    ),
    Format.savedmodel: Accepted(),
    Format.onnx: Accepted(),
    Format.bundle: Accepted(
        ("quantization", "steps", "gallery_size", "recordings", *READING),
        required=("steps",),
        quantizations={**FLOATS, Quantization.dynamic: "recordings"},
    ),
    Format.stream: Accepted(
        ("quantization", "window", "block", "gallery_size"),
        required=("window", "block"),
        quantizations=FLOATS,
    ),
    Format.web: Accepted(("steps", "npm_packages", "far")),
    Format.microcontroller: Accepted(("steps", "tflm")),
}
GALLERY_FORMATS = {
    Format.tflite: Accepted(("quantization", "representative", "far", *ACCESS), quantizations=ALL),
    Format.templates: Accepted(ACCESS),
    Format.web: Accepted(("steps", "npm_packages", "far", *ACCESS)),
}
NEEDED = {  # how errors describe an option that another option needs
    "representative": "--representative FILE.npz. The file must contain about 100 recordings "
    "(time, channels) or images that are similar to those of the device. --quantization dynamic "
    "needs no such file",
    "recordings": "--recordings FOLDER, because the thresholds of the model's card do not apply to "
    "these weights. The folder must contain recordings of people who were not used to train the "
    "model. --quantization float16 needs no such folder",
}


def _uses(option):
    """Lists the sources and formats to which an option applies."""
    uses = []
    for source, formats in (("model", MODEL_FORMATS), ("gallery", GALLERY_FORMATS)):
        accepting = [each for each in formats if option in formats[each].options]
        if accepting:
            uses.append(f"a {source} with {_listed(accepting)}")
    return ", and to ".join(uses)


def check(name: str, to: Format, options: FormatOptions, is_gallery: bool) -> None:
    """Checks that a format accepts the given options.

    Args:
        name: Name or path of the model or gallery.
        to: Format of the exported file.
        options: Options of the command.
        is_gallery: Whether `name` is a gallery.

    Raises:
        typer.BadParameter: If a gallery or a model cannot be exported in this format, if the format
            does not accept an option, or if it needs another option.
    """
    source, alternative = ("gallery", "model") if is_gallery else ("model", "gallery")
    formats = GALLERY_FORMATS if is_gallery else MODEL_FORMATS
    if to not in formats:
        raise typer.BadParameter(
            f"--to {to} needs a {alternative}, but {name} is not a {alternative}. A {source} is "
            f"exported with {_listed(formats)}."
        )
    accepted, typed = formats[to], _typed(options)
    for option in typed:
        if option in accepted.options:
            continue
        raise typer.BadParameter(
            f"{_spelled(option)} does not apply to a {source} with --to {to}. It applies to "
            f"{_uses(option)}."
        )
    for option in accepted.required:
        if option not in typed:
            raise typer.BadParameter(f"--to {to} needs {_spelled(option)} N.")
    for option in typed:
        if option in READING and "recordings" not in typed:
            raise typer.BadParameter(f"{_spelled(option)} needs --recordings FOLDER.")
    quantization = options.quantization
    if quantization is None:
        return
    if quantization not in accepted.quantizations:
        raise typer.BadParameter(
            f"--quantization {quantization} does not apply to --to {to}. Use "
            f"{', '.join(accepted.quantizations)}."
        )
    needed = accepted.quantizations[quantization]
    if needed is not None and needed not in typed:
        raise typer.BadParameter(f"--quantization {quantization} needs {NEEDED[needed]}.")


def weights(quantization: Quantization | None, default: str | None) -> str | None:
    """Converts the option --quantization to the argument `quantization` of the library."""
    if quantization is None:
        return default
    return None if quantization is Quantization.float32 else quantization.value


def _typed(options):
    """Returns the names of the options that differ from their defaults."""
    names = []
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if dataclasses.is_dataclass(value):
            names += _typed(value)
        elif value != field.default:
            names.append(field.name)
    return names


def _spelled(option):
    return f"--{option.replace('_', '-')}"


def _listed(formats):
    *first, last = (f"--to {each}" for each in formats)
    return f"{', '.join(first)} or {last}" if first else last
