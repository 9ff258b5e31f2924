"""Reader that finds the summary, features, remarks and paragraphs in the README of a builder."""

from __future__ import annotations

import re
from typing import NamedTuple

ID = "Key of the record. It is unique in the data set."
_TABLE = re.compile(r"^\| feature \|.*\n\|---.*\n((?:\|.*\n)+)", re.MULTILINE)
_ROW = re.compile(r"^\| (`.*?) \| (.*) \|$", re.MULTILINE)
_ITEM = re.compile(r"^- (.*(?:\n  .*)*)", re.MULTILINE)
_CODE = re.compile(r"^```\n.*?^```\n", re.MULTILINE | re.DOTALL)


class Row(NamedTuple):
    """One row of the table of features."""

    names: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return f"{', '.join(f'`{name}`' for name in self.names)}: {self.text}"


class Page:
    """Parsed README of a builder.

    Attributes:
        summary: First paragraph after the tree of files.
        features: Rows of all tables that describe features.
        remarks: Items of all lists in the README. The items describe the source of the data set.

    Raises:
        ValueError: If the README does not have a table of features.
    """

    def __init__(self, text: str, *, title: str):
        self.title = title
        head, table, _ = text.partition("\n| feature |")
        if not table:
            raise ValueError(f"{title} has no table `| feature | what |`.")
        self.summary = _one_line(_CODE.split(head)[-1].strip().partition("\n\n")[0])
        rows = _ROW.findall("".join(_TABLE.findall(text)))
        self.features = [Row(tuple(re.findall(r"`(\w+)`", names)), text) for names, text in rows]
        self.remarks = [_one_line(item) for item in _ITEM.findall(text)]
        self._text = text

    def paragraph(self, word: str) -> str:
        """Returns the text after the colon in the paragraph that begins with `word` and a colon.

        Raises:
            ValueError: If no paragraph of the README begins with `word` and a colon.
        """
        match = re.search(rf"^{word}: (.*?)(?:\n\n|\Z)", self._text, re.MULTILINE | re.DOTALL)
        if match is None:
            raise ValueError(f"{self.title} has no paragraph `{word}: …`.")
        return _one_line(match[1])

    def feature(self, name: str) -> str:
        """Returns the description of a feature.

        Raises:
            ValueError: If no table has a row for the feature.
        """
        for row in self.features:
            if name in row.names:
                return row.text if row.names == (name,) else str(row)
        raise ValueError(f"{self.title} has no row for the feature `{name}`.")


def _one_line(text: str) -> str:
    return " ".join(text.split())
