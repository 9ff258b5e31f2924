"""Writes an HTML page that compares methods by tables, pictures and facts about the run."""

import base64
import datetime
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from keras_dml import _optional
from keras_dml._files import write_text
from keras_dml._typing import Path

__all__ = ["Picture", "Section", "write_page"]

_TEMPLATE = "page.html.jinja"


class Section(NamedTuple):
    """Table with a heading and an explanation.

    Attributes:
        title: Heading above the table.
        text: Explanation of the measured quantity and the data.
        columns: Headings of the columns. If a column contains only marks, its heading is `""`.
        rows: Rows of the table. `str` converts each entry to text.
        note: Text below the table, which is printed in a small font.
        groups: Labels above groups of neighboring columns. Each entry is a pair: a label, and the
            number of columns below the label. If the list is empty, the table has no labels above
            its headings.
    """

    title: str
    text: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    groups: tuple[Any, ...] = ()


class Picture(NamedTuple):
    """Picture with its caption.

    Attributes:
        path: Path of an SVG file, which is embedded in the page.
        caption: Description of the picture, which is also the alternative text for screen readers.
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
    """Writes an HTML page to a single file, which loads no other files and runs no scripts.

    Args:
        path: Path of the HTML file.
        title: Title of the page.
        lead: Paragraphs below the title.
        sections: Tables of the page, in order.
        pictures: Pictures of the page, in order.
        facts: Facts about the run, such as command, seeds and time, as a dict from the name of a
            fact to its text. The function adds the date to the facts.

    Returns:
        `path`.

    Raises:
        ValueError: If a row does not have one entry per column, if a column does not belong to
            exactly one group, or if a picture is not an `.svg` file.
        TypeError: If `lead` is a text instead of a list of paragraphs.
        OSError: If a picture cannot be read, or if the page cannot be written.
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
                f"{len(section.columns)} columns. Put each column into exactly one group."
            )
    with _optional.explained():
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
    """Returns a picture as a data URL. The page does not contain the SVG code itself, because the
    ids in two pictures could be equal.
    """
    path = pathlib.Path(path)
    if path.suffix != ".svg":
        raise ValueError(
            f"A picture must be an .svg file. Received {path}. `reports.save` writes such files."
        )
    return "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode("ascii")
