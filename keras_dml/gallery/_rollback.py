"""Counters outside a gallery: an older copy that was put in its place is noticed.

A whole older copy is as valid as the gallery was then. The number of changes is therefore also kept
where the key is: in the file of keys of a gallery on a server, or in a file next to the key file.
If the key comes from the environment, from a keyring or as bytes, there is no such place, and an
older copy is not noticed.
"""

import pathlib

TABLE = "CREATE TABLE counters (gallery TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT"
SUFFIX = ".counters"  # of the file beside a key file


class Counter:
    """The largest number of changes that was seen of a gallery.

    Args:
        database: `SQLiteFile` with the table `counters`; None: nothing is kept.
        gallery: What tells the gallery from any other, a string.
    """

    def __init__(self, database=None, gallery=None):
        self._database, self._gallery = database, gallery

    def seen(self):
        """Returns the largest number that was kept, 0 without one."""
        if self._database is None:
            return 0
        with self._database.reading() as run:
            query = "SELECT number FROM counters WHERE gallery = ?"
            row = run(query, (self._gallery,)).fetchone()
        return 0 if row is None else row[0]

    def keep(self, number):
        """Keeps a number, unless a larger one is kept already."""
        if self._database is None or number <= self.seen():
            return
        with self._database.writing() as run:
            run(
                "INSERT INTO counters VALUES (?, ?) ON CONFLICT (gallery) DO UPDATE SET number = "
                "max(number, excluded.number)",
                (self._gallery, number),
            )


def beside(key_file):
    """Returns the path of the file of counters beside a key file."""
    return pathlib.Path(f"{key_file}{SUFFIX}")
