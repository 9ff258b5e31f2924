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


def folder(name, help):
    """An option that takes a folder.

    Args:
        name: The option, `"--out"`.
        help: Its line on the page of help.
    """
    return typer.Option(name, metavar="DIR", help=help, autocompletion=_completion.paths)
