"""The command `keras-dml`: the library's functions with a progress bar."""

import os
import sys
import warnings
from typing import Annotated

import typer

from keras_dml import __version__
from keras_dml.cli import card, demo, export, list_models, reproduce

# The library's own errors are of these types, and speak to a person.
MISTAKES = (ImportError, OSError, RuntimeError, TypeError, ValueError)

app = typer.Typer(
    name="keras-dml",
    help="Deep metric learning: who is it, by how they walk, speak or think?",
    epilog="Start with: keras-dml demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(demo.app, name="demo")
app.command("list")(list_models.run)
app.command("card")(card.run)
app.command("export")(export.run)
app.add_typer(reproduce.app, name="reproduce")


def _version(wanted: bool):
    if wanted:
        print(f"keras-dml {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the whole traceback of an error; goes anywhere.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
):
    pass


def main(arguments=None):
    """Runs the command line; exit 0 done, 1 refused or failed, 2 wrong use.

    Args:
        arguments: Words of the command line; those of this process when None.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # read when TensorFlow is imported
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    words = [word for word in arguments if word != "--debug"]
    if len(words) < len(arguments):
        return app(words, prog_name="keras-dml")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries, to those who call them
            return app(words, prog_name="keras-dml")
    except MISTAKES as error:
        print(f"Error: {error}\n(--debug shows where.)", file=sys.stderr)
        sys.exit(1)
