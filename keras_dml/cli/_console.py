"""Output of the commands: results on stdout, progress of the work on stderr."""

import contextlib
import functools
import json
import os
import sys
import time

import typer
from rich import markup
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from keras_dml.cli import _streams

__all__ = [
    "echo",
    "file_notes",
    "json_object",
    "note",
    "plain",
    "plain_lines",
    "stage",
    "stoppable",
    "table",
    "text_hidden",
    "written",
]

STOPPED = 130  # exit status of a program that Ctrl-C has ended, as shells report it
MIN_WIDTH = 100  # on a pipe, where there is no width to fit
MOST_NOTES = 12  # about files, that are printed
CONTINUED = "  … "  # before the rest of a long name
NAMES = 3  # the first column of a table has this part of the width at most
_is_text_hidden = False


def plain(text):
    """Escapes text from a file, a path or a person for `echo` and `note`: rich's markup, codes of a
    terminal and line breaks in it take no effect."""
    return markup.escape(_streams.visible_line(str(text)))


def plain_lines(text):
    """Escapes a text of the library that has several lines, each as `plain`."""
    return "\n".join(map(plain, str(text).split("\n")))


def echo(text=""):
    """Prints a line on stdout, with rich's markup; text from a file goes through `plain` first."""
    if _is_text_hidden:
        return
    with _streams.writing(sys.stdout):
        _stdout().print(text, highlight=False, soft_wrap=not _stdout().is_terminal)


def json_object(value, indent=None):
    """Prints one JSON object on stdout, for programs; in ASCII, without codes of a terminal."""
    with _streams.writing(sys.stdout):
        print(json.dumps(value, indent=indent))


def table(columns, rows, *, header=True, gap=2):
    """Prints a table on stdout. The first column takes at most a third of the width; the rest of a
    longer entry follows on marked lines.

    Args:
        columns: Heads of the columns.
        rows: Tuples of anything; as of the heads, only the text itself is shown, no markup. A list
            is shown as lines.
        header: Whether the heads are shown.
        gap: Blanks between columns.
    """
    if _is_text_hidden:
        return
    encoding = _stdout().encoding
    rows = [[_cell(entry, encoding) for entry in row] for row in rows]
    for row in rows:
        row[0] = _folded(row[0], encoding)
    drawn = Table(show_header=header, box=None, padding=(0, gap, 0, 0), pad_edge=False)
    heads = [plain(_streams.fitting(head, encoding)) for head in columns]
    first, *others = heads or [""] * max(map(len, rows))
    drawn.add_column(first, style="bold", no_wrap=True)
    for head in others:
        drawn.add_column(head, overflow="fold")
    for row in rows:
        drawn.add_row(*map(markup.escape, row))
    with _streams.writing(sys.stdout):
        _stdout().print(drawn, highlight=False)


def _cell(entry, encoding):
    lines = entry if isinstance(entry, list) else [entry]
    return "\n".join(_streams.visible_line(_streams.fitting(str(line), encoding)) for line in lines)


def _folded(cell, encoding):
    """Folds the lines of a cell at a third of the width of the output.

    The rest of a folded line is indented and marked, so that no part of a long name looks like
    another row.
    """
    mark = _streams.fitting(CONTINUED, encoding)
    width = _stdout().width // NAMES
    lines = []
    for line in cell.split("\n"):
        lines += _parts(line, width, mark)
    return "\n".join(lines)


def _parts(line, width, mark):
    """Returns a line in parts of a width in cells, of which all except the first begin with a mark.

    `textwrap` counts letters instead, and some letters are two cells wide.
    """
    first, *rest = Text(line).wrap(_stdout(), max(width, 2), overflow="fold")
    parts = [first.plain.rstrip()]
    if rest:
        rest = Text(line[len(first.plain) :].lstrip())
        rest = rest.wrap(_stdout(), max(width - cell_len(mark), 2), overflow="fold")
        parts += [mark + part.plain.rstrip() for part in rest if part.plain.strip()]
    return parts


def written(paths, descriptions, seconds):
    """Prints the folder that was written into, and its files.

    Args:
        paths: Paths of the files, all in one folder.
        descriptions: Description of each file by its name; files without one are not listed.
        seconds: Time that the command took.
    """
    names = {path.name for path in paths}
    echo(f"\n[bold]Written to {plain(paths[0].parent)}[/bold] in {seconds:.0f} s")
    table((), [row for row in descriptions.items() if row[0] in names], header=False)


def note(text):
    """Prints a line on stderr, with rich's markup as `echo`."""
    with _streams.writing(_stderr().file):
        _stderr().print(text, highlight=False, soft_wrap=True)


def file_notes(notes):
    """Prints notes about files on stderr, the most frequent first.

    Args:
        notes: Number of files by sentence.
    """
    ranked = sorted(notes.items(), key=lambda item: -item[1])
    for text, count in ranked[:MOST_NOTES]:
        where = "" if count == 1 else f" ({count:,} files)"
        note(plain(f"Note{where}: {text}"))
    if len(ranked) > MOST_NOTES:
        note(f"Note: {len(ranked) - MOST_NOTES:,} further notes; --json lists all.")


@contextlib.contextmanager
def stage(title, *, spinner=True):
    """Reports on stderr a stage of the work, then how long it took.

    Args:
        title: The stage, in a few words.
        spinner: Whether to turn a spinner; not where the work shows a progress bar.
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
def text_hidden(is_hidden):
    """Hides what `echo` and `table` print in the block, where a program reads a JSON object."""
    global _is_text_hidden
    _is_text_hidden = is_hidden
    try:
        yield
    finally:
        _is_text_hidden = False


@contextlib.contextmanager
def stoppable(message):
    """Prints a message when Ctrl-C stops the block; then exit 130.

    Args:
        message: What was written and how to go on, without markup.
    """
    try:
        yield
    except KeyboardInterrupt:
        note(plain(message))
        raise typer.Exit(STOPPED) from None


class _Console(Console):
    def on_broken_pipe(self):
        raise  # rich calls this while it handles the error, and would exit with 1


@functools.cache
def _stdout():
    console = _Console(emoji=False)
    return console if console.is_terminal else _Console(width=MIN_WIDTH, emoji=False)


@functools.cache
def _stderr():
    """On a copy of the file: exports silence the original while a spinner turns."""
    copy = open(
        os.dup(2), "w", encoding=sys.stderr.encoding, errors=_streams.READABLE, closefd=False
    )
    return _Console(file=copy, emoji=False)
