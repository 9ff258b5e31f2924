"""Prints the output of an experiment and writes its report page."""

import contextlib
import os
import pathlib
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from keras_dml._files import replaceable_file
from keras_dml.reports import Picture, Section, write_page
from zoo.papers.runs import duration
from zoo.papers.settings import SMOKE

NAME = "report.html"
SUFFIXES = {".png", ".svg", ".csv", ".json"}  # of files that an experiment writes
HEAD_WIDTH = 10  # least width of a head before it takes another line
GAP = "  "  # between columns
SMOKE_WARNING = (
    "The scale smoke only shows that the experiment runs. Do not draw conclusions from its figures."
)


class Clock:
    """Wall-clock time and processor time since the start of an experiment."""

    def __init__(self):
        self._wall, self._processor = time.monotonic(), time.process_time()

    def __str__(self):
        wall, processor = (
            time.monotonic() - self._wall,
            time.process_time() - self._processor,
        )
        return f"{duration(wall)} ({duration(processor)} of processor time)"


def warnings_of(scale: str) -> list[str]:
    """Returns sentences that warn readers about the figures of a scale."""
    return [SMOKE_WARNING] if scale == SMOKE else []


def echo(text: str = "", style: str = "") -> None:
    """Prints a text on stdout.

    Args:
        text: Text to print. Markup in the text is not interpreted.
        style: Style of rich, such as `"bold"` or `"dim"`.
    """
    Console(emoji=False).print(Text(text, style=style), soft_wrap=True)


@contextlib.contextmanager
def stage(title: str) -> Iterator[None]:
    """Context manager for a stage of the work. Prints the title and the duration of the stage on
    stderr.
    """
    start = time.monotonic()
    print(f"{title} ...", file=sys.stderr, flush=True)
    yield
    print(f"{title}: {duration(time.monotonic() - start)}", file=sys.stderr, flush=True)


def print_section(section: Section) -> None:
    """Prints the table of a section. The label of a group of columns is printed above these
    columns.
    """
    echo(f"\n{section.title}", "bold")
    echo(section.text)
    for line in table_lines(section):
        echo(line)
    if section.note:
        echo(section.note, "dim")


def table_lines(section: Section) -> list[str]:
    """Formats the table of a section as lines of text. A long heading of a column is broken into
    several lines.
    """
    rows = [[str(cell) for cell in row] for row in section.rows]
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(section.columns)
    heads = [
        textwrap.wrap(head, max([HEAD_WIDTH, *map(len, column)])) or [""]
        for head, column in zip(section.columns, cells, strict=True)
    ]
    widths = [max(map(len, (*head, *column))) for head, column in zip(heads, cells, strict=True)]
    lines, labels, start = [], [], 0
    for label, count in section.groups:
        last = start + count - 1
        span = sum(widths[start : last + 1]) + len(GAP) * (count - 1)
        widths[last] += max(0, len(label) - span)
        labels.append(label.center(max(span, len(label))))
        start += count
    if labels:
        lines.append(GAP.join(labels))
    depth = max(map(len, heads))
    padded = [[""] * (depth - len(head)) + head for head in heads]
    for row in (*zip(*padded, strict=True), *rows):
        cells = zip(row, widths, strict=True)
        lines.append(
            GAP.join(
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(cells)
            )
        )
    return [line.rstrip() for line in lines]


def print_files(paths: Sequence[pathlib.Path], descriptions: Mapping[str, str], clock: Clock):
    """Prints the folder of the written files, the elapsed time, and the descriptions of the files.

    Args:
        paths: Paths of the files, all in one folder.
        descriptions: Dictionary from names of files to descriptions. Files without a description
            are not listed.
        clock: Clock of the experiment.
    """
    names = {path.name for path in paths}
    echo(f"\nWritten to {paths[0].parent} in {clock}", "bold")
    width = max(map(len, descriptions))
    for name, text in descriptions.items():
        if name in names:
            echo(f"{name:{width}}{GAP}{text}")


def write_report(
    out: pathlib.Path,
    title: str,
    lead: Sequence[str],
    sections: Sequence[Section],
    descriptions: Mapping[str, str],
    command: str,
    clock: Clock,
    **facts: str,
) -> pathlib.Path:
    """Writes the page `report.html` with tables and with the pictures in a folder. Returns the path
    of the page.

    Args:
        out: The folder.
        title: Title of the page.
        lead: Paragraphs below the title.
        sections: Tables in the order in which the page shows them.
        descriptions: Dictionary from names of files to descriptions. For each PNG file, the page
            shows the SVG file with the same name.
        command: Command that repeats the experiment.
        clock: Clock of the experiment.
        **facts: Names and values of further facts about the experiment.
    """
    from keras_dml.training import versions

    pictures = [
        Picture((out / name).with_suffix(".svg"), text)
        for name, text in descriptions.items()
        if name.endswith(".png")
    ]
    facts = {
        "command": command,
        **facts,
        "time": f"{clock}. Runs that were finished earlier are not counted.",
        "versions": ", ".join(f"{name} {number}" for name, number in versions().items()),
    }
    return write_page(
        out / NAME, title, lead=lead, sections=sections, pictures=pictures, facts=facts
    )


@contextlib.contextmanager
def output_folder(out: pathlib.Path) -> Iterator[None]:
    """Context manager that creates a folder and checks that results can be written into it.

    If the experiment fails or is stopped, folders that were created and are still empty are
    removed.

    Args:
        out: The folder. Missing parent folders are created.

    Raises:
        OSError: If the folder cannot be created.
        ValueError: If the path of a result exists and is not a file.
    """
    created = [folder for folder in (out, *out.parents) if not folder.exists()]
    try:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OSError(
                f"The folder {str(out)!r} cannot be created: {error.strerror}. Choose another "
                "folder with --out."
            ) from error
        for path in out.iterdir():
            if path.suffix in SUFFIXES:
                replaceable_file(path)
        yield
    except BaseException:
        nested = [pathlib.Path(root) for root, _, _ in os.walk(out, topdown=False)]
        for folder in (*(nested if created else ()), *created):
            with contextlib.suppress(OSError):  # the folder is not empty, or does not exist
                folder.rmdir()
        raise
