"""One self-contained HTML page of a comparison: tables, pictures, and how it was run."""

import base64
import datetime
import pathlib
from typing import NamedTuple

from keras_dml._files import write_text

__all__ = ["Picture", "Section", "write_page"]

_TEMPLATE = "page.html.jinja"


class Section(NamedTuple):
    """A table with what it says.

    Attributes:
        title: Heading.
        text: What is measured, on what.
        columns: Heads of the columns; `""` for a column of marks.
        rows: Rows of the table, of anything that prints.
        note: Small print below the table.
        groups: Labels above the columns, pairs of a label and its number of columns; none if empty.
    """

    title: str
    text: str
    columns: tuple
    rows: list
    note: str = ""
    groups: tuple = ()


class Picture(NamedTuple):
    """A picture with its caption.

    Attributes:
        path: An SVG file, which is carried in the page.
        caption: What it shows; also the text for those who do not see it.
    """

    path: pathlib.Path
    caption: str


def write_page(path, title, *, lead, sections=(), pictures=(), facts=None):
    """Writes a page that can be handed on as one file: it loads nothing and runs no script.

    Args:
        path: The HTML file to write.
        title: Title of the page.
        lead: Paragraphs below it.
        sections: `Section`s, in order.
        pictures: `Picture`s, in order.
        facts: How it was run, by name: command, seeds, time; the date is added.

    Returns:
        `path`.

    Raises:
        ValueError: If a row has another length than the columns, the groups have another number of
            columns, or a picture is not an `.svg` file.
        TypeError: If `lead` is one text, not a list of paragraphs.
        OSError: If a picture cannot be read, or the page not be written.
    """
    if isinstance(lead, str):
        raise TypeError(f"`lead` must be a list of paragraphs. Received the text {lead!r}.")
    for section in sections:
        odd = [row for row in section.rows if len(row) != len(section.columns)]
        if odd:
            raise ValueError(
                f"Rows of {section.title!r} must have {len(section.columns)} entries, one a "
                f"column. Received {odd[0]!r}."
            )
        grouped = sum(count for _, count in section.groups)
        if section.groups and grouped != len(section.columns):
            raise ValueError(
                f"The groups of {section.title!r} have {grouped} columns, but the table has "
                f"{len(section.columns)}. Count each column in one group."
            )
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("keras_dml.reports", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shown = [(_data_address(picture.path), picture.caption) for picture in pictures]
    facts = {**(facts or {}), "date": datetime.date.today().isoformat()}
    html = environment.get_template(_TEMPLATE).render(
        title=title, lead=lead, sections=sections, pictures=shown, facts=facts
    )
    write_text(path, html)
    return path


def _data_address(path):
    """The picture itself as an address: within one page the ids of two SVG files would clash."""
    path = pathlib.Path(path)
    if path.suffix != ".svg":
        raise ValueError(
            f"A picture must be an .svg file, as `reports.save` writes. Received {path}."
        )
    return "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode("ascii")
