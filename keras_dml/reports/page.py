"""Self-contained HTML page of a comparison: tables, pictures, and facts about the run."""

import base64
import datetime
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from keras_dml._files import write_text
from keras_dml._typing import Path

__all__ = ["Picture", "Section", "write_page"]

_TEMPLATE = "page.html.jinja"


class Section(NamedTuple):
    """Table with a heading and an explanation.

    Attributes:
        title: Heading.
        text: Explanation: the quantity that is measured, and the data.
        columns: Heads of the columns; `""` for a column of marks.
        rows: Rows of the table; each entry is printed by `str`.
        note: Small print below the table.
        groups: Labels above the columns, pairs of a label and its number of columns; none if empty.
    """

    title: str
    text: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    groups: tuple = ()


class Picture(NamedTuple):
    """Picture with its caption.

    Attributes:
        path: An SVG file, which is embedded in the page.
        caption: Description of the picture, also its alternative text for screen readers.
    """

    path: Path
    caption: str


def write_page(
    path: Path,
    title: str,
    *,
    lead: Sequence[str],
    sections: Sequence[Section] = (),
    pictures: Sequence[Picture] = (),
    facts: Mapping[str, Any] | None = None,
) -> Path:
    """Writes a page as one file that loads no other file and runs no script.

    Args:
        path: The HTML file to write.
        title: Title of the page.
        lead: Paragraphs below the title.
        sections: Tables, in order.
        pictures: Pictures, in order.
        facts: Facts about the run by name, such as command, seeds and time. The date is added.

    Returns:
        `path`.

    Raises:
        ValueError: If a row has another length than the columns, the groups have another number of
            columns, or a picture is not an `.svg` file.
        TypeError: If `lead` is one text, not a list of paragraphs.
        OSError: If a picture cannot be read, or the page cannot be written.
    """
    if isinstance(lead, str):
        raise TypeError(f"`lead` must be a list of paragraphs. Received the text {lead!r}.")
    for section in sections:
        odd = [row for row in section.rows if len(row) != len(section.columns)]
        if odd:
            raise ValueError(
                f"Rows of {section.title!r} must have {len(section.columns)} entries, one for each "
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
    embedded = [(_data_address(picture.path), picture.caption) for picture in pictures]
    facts = {**(facts or {}), "date": datetime.date.today().isoformat()}
    html = environment.get_template(_TEMPLATE).render(
        title=title, lead=lead, sections=sections, pictures=embedded, facts=facts
    )
    write_text(path, html)
    return path


def _data_address(path):
    """Returns a picture as a data URL; inline, the ids of two SVG files in a page could clash."""
    path = pathlib.Path(path)
    if path.suffix != ".svg":
        raise ValueError(
            f"A picture must be an .svg file, as `reports.save` writes. Received {path}."
        )
    return "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode("ascii")
