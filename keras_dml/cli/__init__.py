"""The command `keras-dml`: functions of the library with a progress bar."""

import contextlib
import os
import sys
import traceback
import warnings
from typing import Annotated

import typer
import typer.core

from keras_dml import __version__
from keras_dml.cli import (
    _options,
    _statuses,
    _streams,
    backup,
    calibrate,
    card,
    compare,
    datasets,
    demo,
    enroll,
    explain,
    export,
    forget,
    identify,
    info,
    list_models,
    listen,
    merge,
    people,
    recordings,
    reject,
    remove,
    rename,
    restore,
    serve,
    thresholds,
    train,
    verify,
)

# Types of the library's errors; their messages are written for users.
WRONG_USE = typer.BadParameter.__base__  # a missing or an invalid word of the command line
USER_ERRORS = (ImportError, OSError, RuntimeError, TypeError, ValueError)
GALLERIES = "People of your own"  # head of the commands on galleries


class _Commands(typer.core.TyperGroup):
    def invoke(self, context):
        from keras_dml.cli import _console

        with _console.stoppable("Stopped; nothing was written."):  # commands that write say more
            return super().invoke(context)


app = typer.Typer(
    name="keras-dml",
    cls=_Commands,
    help="Deep metric learning: who is it, by how they walk, speak or think?\n\n"
    "Exit status: 0 done or accepted, 1 rejected, 2 an error.",
    epilog="Example: keras-dml demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(_options.expanded(demo.run))
app.command("list")(_options.expanded(list_models.run))
app.command("card")(_options.expanded(card.run))
app.command("datasets")(_options.expanded(datasets.run))
app.command("export")(_options.expanded(export.run))
app.command("train")(_options.expanded(train.run))
COMMANDS = (
    *(enroll, verify, identify, listen, explain, compare, calibrate),
    *(reject, people, recordings, rename, forget, remove),
    *(info, thresholds, merge, backup, restore, serve),
)
for command in COMMANDS:
    app.command(command.__name__.rpartition(".")[2], rich_help_panel=GALLERIES)(
        _options.expanded(command.run)
    )


def _version(wanted: bool):
    if wanted:
        from keras_dml.cli import _console

        _console.echo(f"keras-dml {__version__}")
        raise typer.Exit()


@app.callback()
def _common_options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the whole traceback of an error; goes anywhere.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
):
    pass


def main(arguments=None):
    """Runs the command line.

    With `--json` an error is one object on standard output too, `{"error": {"type", "message"}}`.

    Exit status: 0 done or accepted, 1 rejected, 2 an error or wrong use, 130 stopped, 141 output no
    longer read.

    Args:
        arguments: Words of the command line; those of this process when None.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # read when TensorFlow is imported
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    words = [word for word in arguments if word != "--debug"]
    is_debugging, is_json = len(words) < len(arguments), _asks_for_json(words)
    try:
        _streams.prepare()
        with contextlib.nullcontext() if is_debugging else _without_warnings():
            status = app(words, prog_name="keras-dml", standalone_mode=not is_json)
            if status:  # of a command with --json, whose wrong use is an exception
                sys.exit(status)
    except _streams.Ended:
        sys.exit(_streams.BROKEN_PIPE)
    except Exception as error:
        is_json = is_json and not isinstance(error, _streams.Unwritable)
        if is_debugging:
            _print_error(traceback.format_exc().rstrip("\n"))
        elif not is_json:
            # a line break in a name prints no line that looks like one of the command
            _print_error(_in_a_line(error), indent="  ")
            _print_error("(--debug shows where.)")
        if is_json:
            _print_json(error)
        _streams.settle(sys.stdout)
        sys.exit(_statuses.ERROR)


def _asks_for_json(words):
    options = words[: words.index("--")] if "--" in words else words
    return "--json" in options


def _in_a_line(error):
    kind = type(error).__name__
    return f"Error: {_message(error) or kind}"


def _message(error):
    if isinstance(error, WRONG_USE):
        return error.format_message()
    return str(error) if isinstance(error, USER_ERRORS) else f"{type(error).__name__}: {error}"


def _print_json(error):
    """Prints an error as an object for programs."""
    from keras_dml.cli import _console, _words

    error_of_library = _words.original(error)
    kind = type(error_of_library).__name__
    fields = {"type": kind, "message": _streams.visible(_message(error)) or kind}
    if kind == "TooManyTries":
        fields["seconds"] = error_of_library.seconds
    with contextlib.suppress(OSError, _streams.Ended):
        _console.json_object({"error": fields})


def _without_warnings():
    return warnings.catch_warnings(action="ignore")  # warnings are for programmers


def _print_error(text, indent=""):
    with contextlib.suppress(OSError):  # standard error may be closed
        text = _streams.visible(text).replace("\n", f"\n{indent}")
        print(text, file=sys.stderr, flush=True)
