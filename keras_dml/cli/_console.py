"""Prints results on standard output, and progress and notes on standard error."""

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
    "print_file_notes",
    "print_json",
    "note",
    "escape",
    "escape_lines",
    "stage",
    "stoppable",
    "print_table",
    "hide_text",
    "print_files",
]

STOPPED = 130  # exit status after Ctrl-C, as in shells
MIN_WIDTH = 100  # width of tables if standard output is not a terminal
MOST_NOTES = 12  # largest number of printed notes about files
CONTINUED = "  … "  # printed before the rest of a name that is too long for a line
INDENT = "  "  # printed before the next words of a line that is too long for the terminal
FIRST_COLUMN = 3  # the first column takes at most the table's width divided by this number
_is_text_hidden = False


def escape(text):
    """Escapes rich markup, terminal codes and line breaks, so that they are printed literally.

    All text that comes from a file, a path or a person must be escaped.
    """
    return markup.escape(_streams.escape_line(str(text)))


def escape_lines(text):
    """Escapes each line of a text with `escape`, and keeps the line breaks."""
    return "\n".join(map(escape, str(text).split("\n")))


def echo(text=""):
    """Prints a text on standard output. The text may contain markup of rich, see `escape`.

    On a terminal, a long line is split into several lines. All lines after the first are indented.
    A line that continues a word begins with a mark instead of the indent. No part of a long name
    therefore looks like another line of the output.
    """
    if _is_text_hidden:
        return
    with _streams.flush_after(sys.stdout):
        if not _stdout().is_terminal:
            _stdout().print(text, highlight=False, soft_wrap=True)
            return
        text = Text.from_markup(_streams.fit_encoding(text, _stdout().encoding), emoji=False)
        for line in text.split("\n", allow_blank=True):
            for part in _wrap(line):
                _stdout().print(part, highlight=False, soft_wrap=True)


def _wrap(line):
    """Wraps a line at the width of the terminal, and indents all parts except the first.

    If a word is longer than a line, each part that continues the word begins with a mark.
    """
    indent, width = "", _stdout().width
    mark = _streams.fit_encoding(CONTINUED, _stdout().encoding)
    while True:
        part, *rest = line.wrap(_stdout(), max(width - cell_len(indent), 2), overflow="fold")
        yield Text(indent) + part
        line = line[len(part) :]
        if not rest or not line.plain.strip():
            return
        is_broken = not (part.plain[-1:] + line.plain[:1]).count(" ")
        indent = mark if is_broken else INDENT
        line = line[len(line.plain) - len(line.plain.lstrip()) :]


def print_json(value, indent=None):
    """Prints one JSON object on standard output, in ASCII."""
    with _streams.flush_after(sys.stdout):
        print(json.dumps(value, indent=indent))


def print_table(columns, rows, *, header=True, gap=2):
    """Prints a table on standard output.

    The first column takes at most a third of the width. A longer entry is split, and each further
    line of the entry begins with a mark. Markup in titles and cells is printed literally.

    Args:
        columns: Titles of the columns.
        rows: Tuples of cells. If a cell is a list, each entry is printed on its own line.
        header: Whether to print the titles.
        gap: Number of blanks between columns.
    """
    if _is_text_hidden:
        return
    encoding = _stdout().encoding
    rows = [[_cell(entry, encoding) for entry in row] for row in rows]
    for row in rows:
        row[0] = _fold(row[0], encoding)
    drawn = Table(show_header=header, box=None, padding=(0, gap, 0, 0), pad_edge=False)
    titles = [escape(_streams.fit_encoding(title, encoding)) for title in columns]
    first, *further = titles or [""] * max(map(len, rows))
    drawn.add_column(first, style="bold", no_wrap=True)
    for title in further:
        drawn.add_column(title, overflow="fold")
    for row in rows:
        drawn.add_row(*map(markup.escape, row))
    with _streams.flush_after(sys.stdout):
        _stdout().print(drawn, highlight=False)


def _cell(entry, encoding):
    lines = entry if isinstance(entry, list) else [entry]
    return "\n".join(
        _streams.escape_line(_streams.fit_encoding(str(line), encoding)) for line in lines
    )


def _fold(cell, encoding):
    """Breaks the lines of a cell if they are longer than a third of the output width.

    The rest of a broken line is indented and marked, so that no part of a long name looks like
    another row.
    """
    mark = _streams.fit_encoding(CONTINUED, encoding)
    width = _stdout().width // FIRST_COLUMN
    lines = []
    for line in cell.split("\n"):
        lines += _parts(line, width, mark)
    return "\n".join(lines)


def _parts(line, width, mark):
    """Splits a line into parts of at most `width` terminal columns.

    All parts except the first begin with `mark`. `textwrap` counts letters, but some letters take
    two terminal columns.
    """
    first, *rest = Text(line).wrap(_stdout(), max(width, 2), overflow="fold")
    parts = [first.plain.rstrip()]
    if rest:
        rest = Text(line[len(first.plain) :].lstrip())
        rest = rest.wrap(_stdout(), max(width - cell_len(mark), 2), overflow="fold")
        parts += [mark + part.plain.rstrip() for part in rest if part.plain.strip()]
    return parts


def print_files(paths, descriptions, seconds):
    """Prints the folder of the written files and a description of each file.

    Args:
        paths: Paths of the files, all in one folder.
        descriptions: Dictionary from file names to descriptions. Files without a description are
            not listed.
        seconds: Run time of the command.
    """
    names = {path.name for path in paths}
    echo(f"\n[bold]Written to {escape(paths[0].parent)}[/bold] in {seconds:.0f} s")
    print_table((), [row for row in descriptions.items() if row[0] in names], header=False)


def note(text):
    """Prints a line on standard error. The line may contain markup of rich, see `escape`."""
    with _streams.flush_after(_stderr().file):
        _stderr().print(text, highlight=False, soft_wrap=True)


def print_file_notes(notes):
    """Prints notes about files on standard error, the most frequent first.

    Args:
        notes: Dictionary `{text: count}` with the number of files to which each note applies.
    """
    ranked = sorted(notes.items(), key=lambda item: -item[1])
    for text, count in ranked[:MOST_NOTES]:
        where = "" if count == 1 else f" ({count:,} files)"
        note(escape(f"Note{where}: {text}"))
    if len(ranked) > MOST_NOTES:
        note(
            f"Note: {len(ranked) - MOST_NOTES:,} more notes are not shown. Use --json to list all "
            "notes."
        )


@contextlib.contextmanager
def stage(title, *, spinner=True):
    """Prints a title before the `with` block. On a terminal, the run time of the block is printed
    after the block.

    Args:
        title: Short title.
        spinner: Whether to show a spinner. Use False if the block shows a progress bar.
    """
    console, start, title = _stderr(), time.monotonic(), escape(title)
    spins = spinner and console.is_terminal
    if not spins:
        note(f"{title} ...")
    spinner_name = "dots" if console.encoding.startswith("utf") else "line"
    with console.status(title, spinner=spinner_name) if spins else contextlib.nullcontext():
        yield
    if spins:
        note(f"[green]✓[/green] {title} [dim]{time.monotonic() - start:.1f} s[/dim]")


@contextlib.contextmanager
def hide_text(is_hidden):
    """If `is_hidden`, suppresses the text output of the `with` block, for commands with JSON."""
    global _is_text_hidden
    _is_text_hidden = is_hidden
    try:
        yield
    finally:
        _is_text_hidden = False


@contextlib.contextmanager
def stoppable(message):
    """If Ctrl-C stops the `with` block, prints a message and exits with status 130.

    Args:
        message: Text that says which files were written and how to resume. Markup is printed
            literally.
    """
    try:
        yield
    except KeyboardInterrupt:
        note(escape(message))
        raise typer.Exit(STOPPED) from None


class _Console(Console):
    def on_broken_pipe(self):
        raise  # re-raises the BrokenPipeError; rich would exit with status 1


@functools.cache
def _stdout():
    console = _Console(emoji=False)
    return console if console.is_terminal else _Console(width=MIN_WIDTH, emoji=False)


@functools.cache
def _stderr():
    """Returns a console that writes to a copy of standard error, because exports redirect the
    original stream.
    """
    copy = open(
        os.dup(2), "w", encoding=sys.stderr.encoding, errors=_streams.READABLE, closefd=False
    )
    return _Console(file=copy, emoji=False)
