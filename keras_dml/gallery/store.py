"""Defines the interface `Store` for databases that hold galleries, and functions for gallery URLs.

To support another database, write a class with the methods of `Store` in a new file, and add the
URL scheme of the database to `SCHEMES`.
"""

import importlib
import re
import urllib.parse
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

import numpy as np

from keras_dml._typing import Path

SCHEMES = {  # URL scheme: module and class of the store
    "postgresql": ("postgres", "PostgresStore"),
    "postgres": ("postgres", "PostgresStore"),
}
FILE = ("sqlite", "SQLiteStore")  # module and class for a path without a scheme

Run: TypeAlias = Callable[..., Any]
"""Function that executes an SQL statement with values for `?`, and returns a DB-API cursor."""


class Store(Protocol):
    """A database with the tables of one gallery.

    A store opens transactions. The classes `records.Records`, `tries.Claims`, `seals.Seals` and
    `encryption.Keys` execute SQL statements in the transactions of the store. In a statement, `?`
    stands for a value. The statements are the same for all stores. Each store creates these tables
    in its own SQL dialect:

    - `about (name, value)`: facts about the gallery as JSON.
    - `people (id, name)`: numbers and names of people. Deleting a person deletes the person's rows
      in `templates` and `tries`.
    - `templates (id, person, enrolled, created, embedding)`: stored embeddings.
    - `sources (template, day, device, proposed)`: day and device of templates for which they were
      given, and the mark of templates that were added by a proposal.
    - `observations (id, person, created, expires, embedding)`: observed recordings that are kept
      for a limited time, see `observations.Observations`. `person` is null for strangers. A
      database on a server contains no observations, because it cannot destroy them at once.
    - `thresholds (far, found)`: false accept rates, and the calibrated threshold for each rate as
      JSON.
    - `boundaries (far, found)`: false match rates, and the decision threshold of `listen` for each
      rate as JSON.
    - `tries (person, client, identified, failures, failed)`: counts of rejected claims.
    - `seals (person, seal)` and `state (number, people, seal)`: see `seals.Seals`.
    - `keys (gallery, person, wrapped)`: see `encryption.Keys`. A database on a server does not have
      the table `keys`, because the people's keys are in a separate file.

    The constructor of a store takes `(path, upgrade)`. `path` is a path or URL. `upgrade` is a
    function that seals a gallery that an earlier release made. The argument of `upgrade` is a
    `Run`. The store calls `upgrade` in the transaction that adds the missing tables to the gallery.

    Attributes:
        path: Path of the file, or the URL without the password, for error messages.
        is_server: True if the gallery is on a server and may be too large for memory. On a server,
            `candidates` finds the people whose templates are near to an embedding. The seals are
            checked without reading the whole gallery. If the gallery is encrypted, its keys are in
            a separate file.
        removal: Instruction for removing the whole store, for error messages.
    """

    path: Path
    is_server: bool
    removal: str

    def close(self) -> None:
        """Closes the file or the connection."""
        ...

    def reading(self) -> AbstractContextManager[Run]:
        """Opens a transaction that reads the state of all tables at one moment."""
        ...

    def writing(self) -> AbstractContextManager[Run]:
        """Opens a transaction for writing. If the block fails, nothing is changed. Other
        transactions that write must wait. After the `with` block has ended, the changes remain even
        if the process is killed.
        """
        ...

    def counting(self) -> AbstractContextManager[Run]:
        """Opens a transaction that changes only the table `tries` and delays no other writer."""
        ...

    def among(self, column: str, values: Iterable[str]) -> tuple[str, Any]:
        """Returns an SQL condition and the value for the `?` in the condition. The condition is
        true if the text in a column is one of `values`."""
        ...

    def changes_by_others(self) -> int:
        """Returns a number that changes whenever another connection changes the tables.

        A store that cannot detect changes by other connections returns 0.
        """
        ...

    def prepare_index(self, run: Run, make_index: Callable[[], Any]) -> None:
        """Creates the index of embeddings if it does not exist. Only a server has an index.

        Args:
            run: Function that executes a statement.
            make_index: Function that returns the `index.Index` of the embeddings, or None if the
                embeddings cannot be indexed.

        Raises:
            ValueError: If the embeddings cannot be indexed.
        """
        ...

    def add_to_index(self, run: Run, template: int, person: int, embedding: np.ndarray) -> None:
        """Adds an enrolled template to the index."""
        ...

    def renumber_in_index(self, run: Run, person: int, number: int) -> None:
        """Changes the number of a person in the index."""
        ...

    def candidates(self, embeddings: np.ndarray) -> tuple[list[str], int] | None:
        """Finds the people whose templates are near to some embeddings.

        Args:
            embeddings: Embeddings, shape `(count, ...)`.

        Returns:
            Names of the people whose templates are nearest in the index, and the number of all
            people. None if the store has no index. Without an index, all templates must be
            compared.
        """
        ...

    def cut_log(self, wait: bool = True) -> None:
        """Truncates the log of changes if the store can do so. The log contains deleted rows.

        Args:
            wait: Whether to wait long for other processes.

        Raises:
            TimeoutError: If another process uses the log.
            OSError: If the disk is full.
        """
        ...

    def purge(self) -> tuple[str, ...]:
        """Rewrites all tables so that no deleted rows remain in them.

        Returns:
            Sentences that name places where deleted rows may remain.
        """
        ...


def is_url(path: Path) -> bool:
    """Returns True if the path of a gallery is a URL. A gallery with a URL is on a server.

    Raises:
        ValueError: If the path is a URL with an unknown scheme.
    """
    scheme, separator, _ = str(path).partition("://")
    if separator and scheme not in SCHEMES:
        raise ValueError(
            f"The URL begins with {scheme}{separator}, but a gallery is a file, or a database at "
            "postgresql://user:password@host:port/database."
        )
    return bool(separator)


def open_store(path: Path, upgrade: Callable[[Run], None] | None) -> Store:
    """Opens the store at a path or URL. A file that does not exist is created.

    Args:
        path: Path of a file, or URL of a database.
        upgrade: Function for galleries of earlier releases, see `Store`. If None, the function does
            not change a file of an earlier release.

    Raises:
        ImportError: If the driver of the URL's database is not installed.
    """
    module, name = SCHEMES[str(path).partition("://")[0]] if is_url(path) else FILE
    # the driver may be missing, because it belongs to an extra
    module = importlib.import_module(f"keras_dml.gallery.{module}")
    return getattr(module, name)(path, upgrade)


def hide_password(path: Path) -> str:
    """Returns the path of a gallery as text, or its URL without the password."""
    if "://" not in str(path):
        return str(path)
    scheme, user, _, place = _split(path)
    place, _, query = place.partition("?")
    options = urllib.parse.parse_qsl(query)
    query = urllib.parse.urlencode(
        [option for option in options if "password" not in option[0]], safe="/"
    )
    return f"{scheme}://{user + '@' if user else ''}{place}{'?' + query if query else ''}"


def check_password(url: Path) -> None:
    """Raises `ValueError` if the password in a URL contains `@` or `/`."""
    _, _, password, _ = _split(url)
    if {*password} & {*"@/"}:
        raise ValueError(
            f"The password in {hide_password(url)} contains an @ or a /, which URLs do not allow. "
            "Write %40 for @ and %2F for /, or store the password in ~/.pgpass instead."
        )


def _split(url):
    """Splits a URL into the scheme, the user, the password, and the rest (host and path)."""
    scheme, _, rest = str(url).partition("://")
    credentials = re.match(r"([^:@/?#]*):(?!\d+(?:[/?]|$))(.*)@", rest, re.DOTALL)
    if credentials:
        return scheme, *credentials.groups(), rest[credentials.end() :]
    authority = re.match(r"[^/?#]*", rest)[0]
    user, at, _ = authority.rpartition("@")
    return scheme, user.partition(":")[0], user.partition(":")[2], rest[len(user + at) :]
