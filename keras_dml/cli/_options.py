"""Options that several commands have."""

import pathlib
from typing import Annotated

import typer

from keras_dml.cli import _completion

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")]
ModelName = Annotated[
    str,
    typer.Argument(help="A model of `keras-dml list`.", autocompletion=_completion.model_names),
]
DataDir = Annotated[
    pathlib.Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Where the prepared data set is kept.",
        autocompletion=_completion.paths,
    ),
]


def count(name, minimum, help, default):
    """An option that takes a whole number.

    Args:
        name: The option, `"--seeds"`.
        minimum: Smallest number allowed.
        help: Line of the option on the help page.
        default: Text that the help page shows as the default.
    """
    return typer.Option(name, min=minimum, help=help, show_default=default)


def folder(name, help):
    """An option that takes a folder.

    Args:
        name: The option, `"--out"`.
        help: Line of the option on the help page.
    """
    return typer.Option(name, metavar="DIR", help=help, autocompletion=_completion.paths)
