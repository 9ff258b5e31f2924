"""Function that finds the table of the people. The table is a file in the same folder as the
archive.
"""

from __future__ import annotations

from tfds_builders.common.archive import Source

NAME = "data_subjects_info.csv"


class _Table(Source):
    def _list(self):
        return self._within(iter([(NAME, self.path.stat().st_size)]))

    def _stream(self, name):
        return self.path.open("rb")


def table_beside(source: Source) -> Source | None:
    """Returns the table in the same folder as an archive or unpacked folder, or None if the table
    does not exist.
    """
    path = source.path.parent / NAME
    return _Table(NAME, source.limits, path=path) if path.is_file() else None
