"""Defines the command line `keras-dml` with its commands and exit statuses, and prints errors."""

import contextlib
import os
import sys
import traceback
import warnings
from typing import Annotated

import typer
import typer.core

from keras_dml import __version__, _messages
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
    proposals,
    recordings,
    reject,
    remove,
    rename,
    restore,
    serve,
    strangers,
    thresholds,
    train,
    verify,
)

WRONG_USE = typer.BadParameter.__base__  # an invalid option, or a missing argument
# Messages of these types of errors are written for users. Errors of all other types are printed
# with their type.
USER_ERRORS = (ImportError, OSError, RuntimeError, TypeError, ValueError)
GALLERIES = "Galleries of people"  # heading of the gallery commands on the help page


class _Commands(typer.core.TyperGroup):
    def invoke(self, context):
        from keras_dml.cli import _console

        # Commands that write files print a more precise message themselves.
        with _console.stoppable("Stopped; nothing was written."):
            return super().invoke(context)


app: typer.Typer = typer.Typer(
    name="keras-dml",
    cls=_Commands,
    help="Recognize people by recordings of sensors, such as walks, voices or EEG.\n\n"
    "The exit status is 0 if the command is done or accepts a claim, 1 if it rejects a claim, and "
    "2 after an error.",
    epilog="Example: keras-dml demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(_options.expand_dataclasses(demo.run))
app.command("list")(_options.expand_dataclasses(list_models.run))
app.command("card")(_options.expand_dataclasses(card.run))
app.command("datasets")(_options.expand_dataclasses(datasets.run))
app.command("export")(_options.expand_dataclasses(export.run))
app.command("train")(_options.expand_dataclasses(train.run))
COMMANDS = (
    *(enroll, verify, identify, listen, explain, compare, calibrate),
    *(reject, people, recordings, rename, forget, remove, proposals, strangers),
    *(info, thresholds, merge, backup, restore, serve),
)
for command in COMMANDS:
    app.command(command.__name__.rpartition(".")[2], rich_help_panel=GALLERIES)(
        _options.expand_dataclasses(command.run)
    )


def _print_version(is_requested: bool):
    if is_requested:
        from keras_dml.cli import _console

        _console.echo(f"keras-dml {__version__}")
        raise typer.Exit()


@app.callback()
def _common_options(
    debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            help="Show the traceback of an error. The option may stand anywhere in the command.",
        ),
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
):
    pass


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line.

    With `--json`, an error is also printed as an object on standard output:
    `{"error": {"type", "message"}}`.

    The exit status is 0 if the command is done or accepts a claim, 1 if it rejects a claim, 2 after
    an error or wrong use, 130 after Ctrl-C, and 141 if the program that reads the output has ended.

    Args:
        arguments: Arguments of the command line. By default, the function uses the arguments of
            this process.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # read when TensorFlow is imported
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    words = [word for word in arguments if word != "--debug"]
    is_debugging, is_json = len(words) < len(arguments), _asks_for_json(words)
    try:
        _streams.prepare()
        with contextlib.nullcontext() if is_debugging else _without_warnings():
            status = app(words, prog_name="keras-dml", standalone_mode=not is_json)
            if status:  # with --json, Typer returns the status instead of exiting
                sys.exit(status)
    except _streams.Ended:
        sys.exit(_streams.BROKEN_PIPE)
    except Exception as error:
        is_json = is_json and not isinstance(error, _streams.Unwritable)
        if is_debugging:
            _print_error(traceback.format_exc().rstrip("\n"))
        elif not is_json:
            # Further lines of the message are indented, so that a line break in a name cannot
            # imitate a line of the command.
            _print_error(_error_line(error), indent="  ")
            _print_error("(--debug shows where.)")
        if is_json:
            _print_json(error)
        _streams.settle(sys.stdout)
        sys.exit(_statuses.ERROR)


def _asks_for_json(words):
    options = words[: words.index("--")] if "--" in words else words
    return "--json" in options


def _error_line(error):
    kind = type(error).__name__
    return f"Error: {_message(error) or kind}"


def _message(error):
    if isinstance(error, WRONG_USE):
        return error.format_message()
    text = _messages.text_of(error)
    is_for_users = isinstance(text, _messages.Message) or isinstance(error, USER_ERRORS)
    return text if is_for_users else f"{type(error).__name__}: {error}"


def _print_json(error):
    """Prints an error as a JSON object."""
    from keras_dml.cli import _console

    kind = type(error).__name__
    fields = {"type": kind, "message": _streams.escape(_message(error)) or kind}
    if kind == "TooManyTries":
        fields["seconds"] = error.seconds
    with contextlib.suppress(OSError, _streams.Ended):
        _console.print_json({"error": fields})


def _without_warnings():
    return warnings.catch_warnings(action="ignore")  # warnings are meant for programmers


def _print_error(text, indent=""):
    with contextlib.suppress(OSError):  # standard error may be closed
        text = _streams.escape(text).replace("\n", f"\n{indent}")
        print(text, file=sys.stderr, flush=True)
