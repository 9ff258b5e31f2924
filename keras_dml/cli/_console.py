"""What a person sees: tables and sentences on stdout, notes about the work on stderr."""

import contextlib
import functools
import json
import os
import sys
import time

import typer
from rich import markup
from rich.console import Console
from rich.table import Table

from keras_dml.cli import _streams

__all__ = ["data", "note", "plain", "quietly", "say", "stage", "stoppable", "table"]

STOPPED = 130  # what a shell reports of a program that Ctrl-C has ended
LEAST_WIDTH = 100  # on a pipe, where there is no width to fit


def plain(text):
    """Text from a file, a path or a person, as part of what `say` and `note` show: neither rich's
    markup nor a terminal's codes in it are obeyed."""
    return markup.escape(_streams.visible(str(text)))


def say(text=""):
    """A line on stdout, with rich's markup; text from a file goes through `plain` first."""
    with _streams.writing(sys.stdout):
        _stdout().print(text, highlight=False, soft_wrap=not _stdout().is_terminal)


def data(value, indent=None):
    """One JSON object on stdout, for programs; in ASCII, which no terminal obeys."""
    with _streams.writing(sys.stdout):
        print(json.dumps(value, indent=indent))


def table(columns, rows, *, header=True, gap=2):
    """A table on stdout.

    Args:
        columns: Heads of the columns.
        rows: Tuples of anything; only the strings' own text is shown, no markup.
        header: Whether the heads are shown.
        gap: Blanks between columns.
    """
    encoding = _stdout().encoding
    rows = [tuple(plain(_streams.fitting(str(entry), encoding)) for entry in row) for row in rows]
    drawn = Table(show_header=header, box=None, padding=(0, gap, 0, 0), pad_edge=False)
    width = len(columns) or max(map(len, rows))
    for i in range(width):
        head = columns[i] if columns else ""
        drawn.add_column(head, style="bold" if i == 0 else None, no_wrap=i == 0, overflow="fold")
    for row in rows:
        drawn.add_row(*row)
    with _streams.writing(sys.stdout):
        _stdout().print(drawn, highlight=False)


def note(text):
    """A line on stderr, with rich's markup as `say`."""
    with _streams.writing(_stderr().file):
        _stderr().print(text, highlight=False, soft_wrap=True)


@contextlib.contextmanager
def stage(title, *, spinner=True):
    """Tells on stderr what is being done, then how long it took.

    Args:
        title: What, in a few words.
        spinner: Whether to turn a spinner; not where the work shows a bar of its own.
    """
    console, start, title = _stderr(), time.monotonic(), plain(title)
    spins = spinner and console.is_terminal
    if not spins:
        note(f"{title} ...")
    turning = "dots" if console.encoding.startswith("utf") else "line"
    with console.status(title, spinner=turning) if spins else contextlib.nullcontext():
        yield
    if spins:
        note(f"[green]✓[/green] {title} [dim]{time.monotonic() - start:.1f} s[/dim]")


@contextlib.contextmanager
def quietly():
    """Keeps off the terminal what TensorFlow writes while it loads; an exception says it all."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


@contextlib.contextmanager
def stoppable(told):
    """Says, when Ctrl-C stops what is in the block, how things stand; then exit 130.

    Args:
        told: A sentence or two, without markup.
    """
    try:
        yield
    except KeyboardInterrupt:
        note(plain(told))
        raise typer.Exit(STOPPED) from None


class _Console(Console):
    def on_broken_pipe(self):
        raise  # rich calls this while it handles the error, and would exit with 1


@functools.cache
def _stdout():
    console = _Console(emoji=False)
    return console if console.is_terminal else _Console(width=LEAST_WIDTH, emoji=False)


@functools.cache
def _stderr():
    """On a copy of the file, so that a spinner turns while `quietly` holds the original."""
    copy = open(
        os.dup(2), "w", encoding=sys.stderr.encoding, errors=_streams.READABLE, closefd=False
    )
    return _Console(file=copy, emoji=False)
