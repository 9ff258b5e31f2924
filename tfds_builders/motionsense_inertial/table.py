"""Finds the table of the people, which is a file in the folder of the archive."""

from __future__ import annotations

from tfds_builders.common.source import Source

NAME = "data_subjects_info.csv"


class _Table(Source):
    def _list(self):
        return self._within(iter([(NAME, self.path.stat().st_size)]))

    def _stream(self, name):
        return self.path.open("rb")


def table_beside(source: Source) -> Source | None:
    """Returns the table beside an archive or unpacked folder, or None if it does not exist."""
    path = source.path.parent / NAME
    return _Table(NAME, source.limits, path=path) if path.is_file() else None
