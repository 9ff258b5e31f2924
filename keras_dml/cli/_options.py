"""Options that several commands have."""

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
        "--distances", help="Print the model's distances in the place of closeness from 0 to 100."
    ),
]
Scores = Annotated[
    bool,
    typer.Option(
        "--scores",
        help="Also print how close the recordings are. Do not show this to people who claim to be "
        "somebody: it helps them to be accepted.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")]
DataDir = Annotated[
    pathlib.Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Where the prepared data set is kept.",
        autocompletion=_completion.paths,
    ),
]


def folder(name, help):
    """An option that takes a folder.

    Args:
        name: The option, `"--out"`.
        help: Line of the option on the help page.
    """
    return typer.Option(name, metavar="DIR", help=help, autocompletion=_completion.paths)


Gallery = Annotated[
    str,
    typer.Argument(
        help="File of a gallery, or URL of a PostgreSQL database.",
        show_default=False,
        autocompletion=_completion.paths,
    ),
]
Person = Annotated[
    str,
    typer.Argument(help="Name of a person.", show_default=False, autocompletion=_completion.people),
]
Files = Annotated[
    list[str],
    typer.Argument(
        help=f"Recordings: {format_names()} files, or folders of them.",
        show_default=False,
        autocompletion=_completion.paths,
    ),
]
GalleryModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="The model of the people: of `keras-dml list`, a .keras file, or the folder of one. A "
        "gallery remembers it.",
        show_default=False,
        autocompletion=_completion.models,
    ),
]
Channels = Annotated[
    str | None,
    typer.Option(
        "--channels",
        metavar="X,Y,...",
        help="Columns of the files that are the model's channels, in its order; numbers from 1 in "
        "npy and wav.",
        show_default="the names of the model's",
    ),
]
RateHz = Annotated[
    float | None,
    typer.Option(
        "--rate-hz",
        metavar="HZ",
        help="Steps per second, for files that do not say it.",
        show_default="by the column of times, or the header of a wav",
    ),
]
Resample = Annotated[
    bool | None,
    typer.Option(
        "--resample/--no-resample",
        help="Resample recordings to the rate of the model, up to twice their own. Their times may "
        "be uneven.",
        show_default="as at the first enrollment",
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        help="Column of the files that holds the times; a number from 1 in npy.",
        show_default="by the names of the columns, such as time_ms or Zeit (s)",
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
        show_default="by the name of the column, or by the size of the numbers",
    ),
]
MaxGap = Annotated[
    float | None,
    typer.Option(
        "--max-gap",
        metavar="SECONDS",
        help="Interpolate missing values and rows over at most this time. A recording is cut at "
        "longer gaps.",
        show_default="5 steps of the file",
    ),
]


Replace = Annotated[
    bool, typer.Option("--replace", help="Replace the gallery that is there already.")
]
Far = Annotated[
    float | None,
    typer.Option(
        "--far",
        metavar="RATE",
        help="False accept rate of the threshold, one that was calibrated.",
        show_default="the smallest",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="DISTANCE",
        help="Accept distances up to this one instead.",
        show_default=False,
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="FILE",
        help="Key of an encrypted gallery, or of a new one to be encrypted: a file (`(umask 077; "
        "openssl rand -base64 32 > FILE)`), or keyring:NAME.",
        show_default="what KERAS_DML_GALLERY_KEY holds",
        autocompletion=_completion.paths,
    ),
]
Keys = Annotated[
    str | None,
    typer.Option(
        "--keys",
        metavar="FILE",
        help="Keys of the people of an encrypted gallery on a server, kept apart from it.",
        show_default=False,
        autocompletion=_completion.paths,
    ),
]


@dataclasses.dataclass(frozen=True)
class Reading:
    """Options for reading files of recordings.

    None leaves the choice to what the gallery remembers of its first enrollment, and then to the
    file.

    Attributes:
        channels: Columns of the files, separated by commas; None: the channels of the model.
        rate_hz: Steps per second of files that do not state it; None: unknown.
        resample: Whether to resample recordings to the rate of the model; None: no.
        time: Column of the times; None: found by the names of the columns.
        time_unit: Unit of the times; None: found by the file.
        max_gap: Longest gap to interpolate, in seconds; None: 5 steps.
    """

    channels: Channels = None
    rate_hz: RateHz = None
    resample: Resample = None
    time: Time = None
    time_unit: TimeUnit = None
    max_gap: MaxGap = None


@dataclasses.dataclass(frozen=True)
class Access:
    """Options that open an encrypted gallery.

    Attributes:
        key: Key of the gallery, as in `Gallery`; None: from the environment, or no encryption.
        keys: File of the people's keys, as in `Gallery`.
    """

    key: Key = None
    keys: Keys = None


@dataclasses.dataclass(frozen=True)
class GalleryOptions:
    """Options of commands that open a gallery and its model and read recordings.

    Attributes:
        model: Name or path of the model; None: the model that the gallery names.
        reading: How files are read.
        access: How an encrypted gallery is opened.
    """

    model: GalleryModel = None
    reading: Reading = Reading()
    access: Access = Access()


def expanded(command):
    """Returns a command whose options are the fields of its parameters that are dataclasses.

    Typer makes an option of each parameter. A command takes `options: GalleryOptions` instead of
    nine parameters, and gets the object when it is called.
    """
    signature = inspect.signature(command)

    @functools.wraps(command)
    def run(**values):
        return command(**_collected(signature.parameters.values(), values))

    run.__signature__ = signature.replace(parameters=list(_flattened(signature)))
    return run


def _flattened(signature):
    """Yields the parameters of a signature, and the fields of a dataclass in its place."""
    for parameter in signature.parameters.values():
        if dataclasses.is_dataclass(parameter.annotation):
            yield from _flattened(inspect.signature(parameter.annotation))
        else:
            yield parameter


def _collected(parameters, values):
    """Returns the arguments of parameters, with the dataclasses made of the values of fields."""
    arguments = {}
    for parameter in parameters:
        if dataclasses.is_dataclass(parameter.annotation):
            fields = inspect.signature(parameter.annotation).parameters.values()
            arguments[parameter.name] = parameter.annotation(**_collected(fields, values))
        else:
            arguments[parameter.name] = values[parameter.name]
    return arguments
