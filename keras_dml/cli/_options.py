"""Options that several commands have."""

import dataclasses
import enum
import pathlib
from typing import Annotated

import typer

from keras_dml.cli import _completion

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
        help="Recordings: csv, npy, parquet, wav or flac files, or folders of them.",
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


@dataclasses.dataclass(frozen=True)
class Reading:
    """Options for reading the files of a command. None leaves a question to what the gallery
    remembers of its first enrollment, then to the file.

    Attributes:
        channels: Columns of the files, separated by commas; None: those that the model names.
        rate_hz: Steps per second of files that do not say it; None: unknown.
        resample: Whether recordings are resampled to the rate of the model; None: they are not.
        time: Column that holds the times; None: by the names of the columns.
        time_unit: Unit of the times; None: by the file.
        max_gap: Longest gap that is interpolated, in seconds; None: 5 steps.
    """

    channels: str | None = None
    rate_hz: float | None = None
    resample: bool | None = None
    time: str | None = None
    time_unit: str | None = None
    max_gap: float | None = None


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
