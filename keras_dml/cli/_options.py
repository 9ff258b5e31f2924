"""Defines the command-line options that several commands share."""

import dataclasses
import enum
import functools
import inspect
import pathlib
from typing import Annotated

import typer

from keras_dml.cli import _completion
from keras_dml.recordings import format_names

Distances = Annotated[
    bool,
    typer.Option(
        "--distances", help="Print distances of the model instead of closeness from 0 to 100."
    ),
]
Scores = Annotated[
    bool,
    typer.Option(
        "--scores",
        help="Also print how close the recordings are. Do not show these scores to people whose "
        "claims you check, because scores help attackers.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
DataDir = Annotated[
    pathlib.Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Folder with the prepared data sets.",
        autocompletion=_completion.complete_paths,
    ),
]


def folder(name, help):
    """Returns the annotation of an option whose value is a folder.

    Args:
        name: Name of the option, such as `"--out"`.
        help: Help text of the option.
    """
    return typer.Option(name, metavar="DIR", help=help, autocompletion=_completion.complete_paths)


Gallery = Annotated[
    str,
    typer.Argument(
        help="File of a gallery, or URL of a PostgreSQL database.",
        show_default=False,
        autocompletion=_completion.complete_paths,
    ),
]
Person = Annotated[
    str,
    typer.Argument(
        help="Name of a person.", show_default=False, autocompletion=_completion.complete_people
    ),
]
Files = Annotated[
    list[str],
    typer.Argument(
        help=f"Recordings in {format_names()} files, or folders with recordings.",
        show_default=False,
        autocompletion=_completion.complete_paths,
    ),
]
GalleryModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Model of the gallery: a name from `keras-dml list`, a .keras file, or the folder of "
        "a .keras file. The gallery stores this name or path.",
        show_default=False,
        autocompletion=_completion.complete_models,
    ),
]


class ScoringName(enum.StrEnum):
    """Scorings of a gallery, see `keras_dml.scoring`."""

    nearest = "nearest"
    mean = "mean"
    two_covariance = "two_covariance"


Scoring = Annotated[
    ScoringName | None,
    typer.Option(
        "--scoring",
        help="Scoring of a new gallery: distance to the nearest enrolled recording, distance "
        "between the means, or log likelihood ratio of the two-covariance model.",
        show_default="the scoring in the model's card",
    ),
]


class EngineName(enum.StrEnum):
    """Libraries that can compute embeddings and distances."""

    edge = "edge"
    keras = "keras"


Engine = Annotated[
    EngineName | None,
    typer.Option(
        "--engine",
        help="Library that computes embeddings: edge (LiteRT, needs the .tflite file of the model, "
        "starts in a fraction of a second) or keras.",
        show_default="edge, or keras for models without a .tflite file and galleries on a server",
    ),
]
Channels = Annotated[
    str | None,
    typer.Option(
        "--channels",
        metavar="X,Y,...",
        help="Columns that contain the model's channels, in the model's order. Columns of npy and "
        "wav files are numbers from 1.",
        show_default="the model's names",
    ),
]
RateHz = Annotated[
    float | None,
    typer.Option(
        "--rate-hz",
        metavar="HZ",
        help="Time steps per second, for files that do not state this rate.",
        show_default="read from the column of times or the header of a wav",
    ),
]
Resample = Annotated[
    bool | None,
    typer.Option(
        "--resample/--no-resample",
        help="Resample recordings to the rate of the model. The model's rate may be at most twice "
        "the rate of the recordings. Times may be uneven.",
        show_default="the same as at the first enrollment",
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        help="Column that contains the times. Columns of npy files are numbers from 1.",
        show_default="a known name, such as time_ms or Zeit (s)",
    ),
]


class Unit(enum.StrEnum):
    """Units of times."""

    s = "s"
    ms = "ms"
    us = "us"
    ns = "ns"


TimeUnit = Annotated[
    Unit | None,
    typer.Option(
        "--time-unit",
        help="Unit of the times.",
        show_default="inferred from the column's name or from the size of its numbers",
    ),
]
MaxGap = Annotated[
    float | None,
    typer.Option(
        "--max-gap",
        metavar="SECONDS",
        help="Interpolate missing values and rows in gaps up to this length. Recordings are cut at "
        "longer gaps.",
        show_default="5 steps of the file",
    ),
]


Replace = Annotated[bool, typer.Option("--replace", help="Replace an existing gallery.")]
Far = Annotated[
    float | None,
    typer.Option(
        "--far",
        metavar="RATE",
        help="Use the calibrated threshold for this false accept rate, such as 0.01.",
        show_default="the smallest calibrated rate",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="DISTANCE",
        help="Accept distances up to this value. Replaces --far.",
        show_default=False,
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="FILE",
        help="Key that opens an encrypted gallery or encrypts a new gallery: a file (made by "
        "`(umask 077; openssl rand -base64 32 > FILE)`) or keyring:NAME.",
        show_default="the value of KERAS_DML_GALLERY_KEY",
        autocompletion=_completion.complete_paths,
    ),
]
Keys = Annotated[
    str | None,
    typer.Option(
        "--keys",
        metavar="FILE",
        help="File with the keys of the people, for an encrypted gallery on a server.",
        show_default=False,
        autocompletion=_completion.complete_paths,
    ),
]


READING_NAMES = {  # how commands spell arguments of `keras_dml.recordings.read` in messages
    "channels": "--channels",
    "rate_hz": "--rate-hz",
    "resample_hz": "--resample",
    "time": "--time",
    "time_unit": "--time-unit",
    "max_gap": "--max-gap",
}


GALLERY_NAMES = READING_NAMES | {  # arguments and functions of `keras_dml.gallery`
    "days": "--keep",
    "extrapolate=True": "--extrapolate",
    "far": "--far",
    "groups": "--groups",
    "key": "--key",
    "keys": "--keys",
    "model": "--model",
    "path": "GALLERY",
    "person": "PERSON",
    "recordings": "FILES",
    "replace=True": "--replace",
    "scoring": "--scoring",
    "threshold": "--threshold",
    "window": "--window",
    "accept_older()": "`keras-dml restore` with --key",
    "calibrate()": "`keras-dml calibrate`",
    "calibrate_listening()": "`keras-dml calibrate --window SECONDS`",
    "enroll()": "`keras-dml enroll`",
    "list_recordings()": "`keras-dml recordings`",
    "list_rejections()": "`keras-dml reject --list`",
    "people()": "`keras-dml people`",
    "proposals.list()": "`keras-dml proposals`",
    "purge()": "`keras-dml people`",
    "reject()": "`keras-dml reject`",
    "remove_threshold()": "`keras-dml calibrate GALLERY --remove RATE`",
    "restore()": "`keras-dml restore`",
    "strangers.list()": "`keras-dml strangers`",
    "Gallery.forget()": "`keras-dml forget`",
    "Gallery(new_path, model)": "`keras-dml enroll NEW.db PERSON FILES --model MODEL`",
}


@dataclasses.dataclass(frozen=True)
class Reading:
    """Options that say how files of recordings are read.

    If an option is None, the value from the gallery's first enrollment is used. If the gallery does
    not store a value, the value is read from the file.

    Attributes:
        channels: Columns of the files, separated by commas. If None, the columns with the names of
            the model's channels are read.
        rate_hz: Time steps per second, for files that do not state their rate.
        resample: If True, recordings are resampled to the rate of the model. If None, recordings
            keep their rate.
        time: Column that contains the times. If None, the column is found by its name.
        time_unit: Unit of the times. If None, the unit is inferred from the column of times.
        max_gap: Longest gap that is interpolated, in seconds. If None, gaps of up to 5 steps are
            interpolated.
    """

    channels: Channels = None
    rate_hz: RateHz = None
    resample: Resample = None
    time: Time = None
    time_unit: TimeUnit = None
    max_gap: MaxGap = None


@dataclasses.dataclass(frozen=True)
class Access:
    """Keys that open an encrypted gallery.

    Attributes:
        key: Key of the gallery, as in `Gallery`. If None, the key is read from the environment. If
            the environment has no key, nothing is encrypted.
        keys: File with the keys of the people, as in `Gallery`.
    """

    key: Key = None
    keys: Keys = None


@dataclasses.dataclass(frozen=True)
class GalleryOptions:
    """Options of commands that open a gallery with its model and read recordings.

    Attributes:
        model: Name or path of the model. If None, the model that the gallery was created with is
            used.
        reading: Options that say how files are read.
        access: Keys that open an encrypted gallery.
        engine: Library that computes embeddings. If None, LiteRT is used if the model has a .tflite
            file.
    """

    model: GalleryModel = None
    reading: Reading = Reading()
    access: Access = Access()
    engine: Engine = None


def as_typed(reading):
    """Returns stored options for reading files in command-line form, such as `--resample --rate-hz
    50`. Units have no command-line option, because files state their units."""
    options = {field.name for field in dataclasses.fields(Reading)}
    words = []
    for name, value in reading.items():
        words.append(f"--{name.replace('_', '-')}" if name in options else name)
        if value is not True:
            words.append(",".join(value) if isinstance(value, list) else str(value))
    return " ".join(words)


def expand_dataclasses(command):
    """Replaces dataclass parameters of a command by one parameter per field of the dataclass.

    Typer makes an option from each parameter. A command can declare one parameter `options:
    GalleryOptions` instead of nine parameters, and receives the dataclass object.
    """
    signature = inspect.signature(command)

    @functools.wraps(command)
    def run(**values):
        return command(**_collect_arguments(signature.parameters.values(), values))

    run.__signature__ = signature.replace(parameters=list(_flatten_parameters(signature)))
    run.__doc__ = _without_line_breaks(inspect.getdoc(command))
    return run


def _without_line_breaks(text):
    """Joins the lines of each paragraph, so that a terminal of any width breaks the lines of a help
    text. Typer keeps the line breaks of the source code."""
    return "\n\n".join(" ".join(lines.split("\n")) for lines in text.split("\n\n"))


def _flatten_parameters(signature):
    """Yields the parameters of a signature. Dataclass parameters are replaced by their fields."""
    for parameter in signature.parameters.values():
        if dataclasses.is_dataclass(parameter.annotation):
            yield from _flatten_parameters(inspect.signature(parameter.annotation))
        else:
            yield parameter


def _collect_arguments(parameters, values):
    """Returns the arguments of a call. Builds each dataclass argument from the values of its
    fields."""
    arguments = {}
    for parameter in parameters:
        if dataclasses.is_dataclass(parameter.annotation):
            fields = inspect.signature(parameter.annotation).parameters.values()
            arguments[parameter.name] = parameter.annotation(**_collect_arguments(fields, values))
        else:
            arguments[parameter.name] = values[parameter.name]
    return arguments
