"""What a person sees: tables and sentences on stdout, notes about the work on stderr."""

import contextlib
import functools
import os
import sys
import time

from rich.console import Console
from rich.markup import escape as plain
from rich.table import Table

__all__ = ["note", "plain", "quietly", "say", "stage", "table"]

LEAST_WIDTH = 100  # on a pipe, where there is no width to fit


def say(text=""):
    """A line on stdout, with rich's markup; text from a file goes through `plain` first."""
    _stdout().print(text, highlight=False, soft_wrap=not _stdout().is_terminal)


def table(columns, rows, *, header=True, gap=2):
    """A table on stdout.

    Args:
        columns: Heads of the columns.
        rows: Tuples of anything; only the strings' own text is shown, no markup.
        header: Whether the heads are shown.
        gap: Blanks between columns.
    """
    rows = [tuple(plain(str(entry)) for entry in row) for row in rows]
    drawn = Table(show_header=header, box=None, padding=(0, gap, 0, 0), pad_edge=False)
    width = len(columns) or max(map(len, rows))
    for i in range(width):
        head = columns[i] if columns else ""
        drawn.add_column(head, style="bold" if i == 0 else None, no_wrap=i == 0, overflow="fold")
    for row in rows:
        drawn.add_row(*row)
    _stdout().print(drawn, highlight=False)


def note(text):
    """A line on stderr."""
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
    with console.status(title) if spins else contextlib.nullcontext():
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


@functools.cache
def _stdout():
    console = Console()
    return console if console.is_terminal else Console(width=LEAST_WIDTH)


@functools.cache
def _stderr():
    """On a copy of the file, so that a spinner turns while `quietly` holds the original."""
    return Console(file=open(os.dup(2), "w", encoding="utf-8", closefd=False))
