"""Interface of a store, which holds the tables of a gallery, and the stores by URL scheme.

To add a store, write a class with the methods of `Store` in a new file and add its URL scheme to
`SCHEMES`.
"""

import importlib
import re
import urllib.parse
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

import numpy as np

from keras_dml._typing import Path

SCHEMES = {  # URL scheme: module and class of its store
    "postgresql": ("postgres", "PostgresStore"),
    "postgres": ("postgres", "PostgresStore"),
}
FILE = ("sqlite", "SQLiteStore")  # of a path without a scheme

Run: TypeAlias = Callable[..., Any]
"""A function of an SQL statement and the values of its marks `?`, which returns a DB-API cursor."""


class Store(Protocol):
    """A database with the tables of one gallery.

    A store opens transactions. The classes that use it (`records.Records`, `tries.Claims`,
    `seals.Seals`, `encryption.Keys`) execute SQL statements in them, with `?` as the mark of a
    value. The statements are the same for every store. Each store has its schema in its SQL
    dialect, with these tables:

    - `about (name, value)`: facts about the gallery, JSON by name
    - `people (id, name)`: numbers and names; deleting a person deletes their templates and tries
    - `templates (id, person, enrolled, created, embedding)`
    - `thresholds (far, found)` and `boundaries (far, found)`: JSON by false accept rate
    - `tries (person, client, identified, failures, failed)`: counts of rejected claims
    - `seals (person, seal)` and `state (number, people, seal)`: see `seals.Seals`
    - `keys (gallery, person, wrapped)`: see `encryption.Keys`; not on a server, whose galleries
      have their keys in a separate file

    A constructor takes `(path, upgrade)`: the path or URL, and a function of `Run` that seals a
    gallery of an earlier release, which the store calls within the transaction that upgrades it.

    Attributes:
        path: Path of the file, or the URL without its password, for error messages.
        is_server: True if the gallery may be too large for memory. Then people near to an embedding
            come from `candidates`, the whole gallery is not read to check seals, and an encrypted
            gallery needs a file of keys.
        removal: Instruction to remove the whole store, for error messages.
    """

    path: Path
    is_server: bool
    removal: str

    def close(self) -> None:
        """Closes the file or the connection."""
        ...

    def reading(self) -> AbstractContextManager[Run]:
        """Opens a transaction that sees the tables as they are at one moment."""
        ...

    def writing(self) -> AbstractContextManager[Run]:
        """Opens a transaction that changes the tables, completely or not at all.

        Other writers wait. A change survives a killed process once the block has ended.
        """
        ...

    def counting(self) -> AbstractContextManager[Run]:
        """Opens a transaction that changes only `tries`, so that other writers need not wait."""
        ...

    def among(self, column: str, values: Iterable[str]) -> tuple[str, Any]:
        """Returns an SQL condition that a column is one of many texts, and its mark's value."""
        ...

    def changes_by_others(self) -> int:
        """Returns a number that differs after another connection has changed the tables.

        A store that cannot tell returns 0.
        """
        ...

    def prepare_index(self, run: Run, make_index: Callable[[], Any]) -> None:
        """Makes the index of embeddings if it does not exist. A file needs none.

        Args:
            run: Function that executes a statement.
            make_index: Function that returns the `model.Index` of the embeddings, or None if they
                cannot be indexed.

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
        """Finds people near to embeddings.

        Args:
            embeddings: Shape `(count, ...)`.

        Returns:
            Names of the people whose templates the index returns as nearest, and the number of all
            people. None if the store has no index, and all templates are to be compared.
        """
        ...

    def cut_log(self) -> None:
        """Removes deleted rows from the log of changes, if the store can do so at once.

        Raises:
            TimeoutError: If another process prevents it.
            OSError: If the disk is full.
        """
        ...

    def purge(self) -> tuple[str, ...]:
        """Rewrites all tables without deleted rows.

        Returns:
            Sentences that name places where deleted rows may still be.
        """
        ...


def is_url(path: Path) -> bool:
    """Returns whether a gallery is on a server.

    Raises:
        ValueError: If the path is a URL of an unknown scheme.
    """
    scheme, separator, _ = str(path).partition("://")
    if separator and scheme not in SCHEMES:
        raise ValueError(
            f"The URL begins with {scheme}{separator}, but a gallery is a file, or a database at "
            "postgresql://user:password@host:port/database."
        )
    return bool(separator)


def open_store(path: Path, upgrade: Callable[[Run], None] | None) -> Store:
    """Opens the store at a path or URL; a file is created if it does not exist.

    Args:
        path: Path of a file, or URL.
        upgrade: See `Store`. None: a file of an earlier release stays as it is.

    Raises:
        ImportError: If the driver of the URL's database is not installed.
    """
    module, name = SCHEMES[str(path).partition("://")[0]] if is_url(path) else FILE
    module = importlib.import_module(f"keras_dml.gallery.{module}")  # a driver may be an extra
    return getattr(module, name)(path, upgrade)


def hide_password(path: Path) -> str:
    """Returns the path of a gallery for a message: a URL loses its password."""
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
    """Raises `ValueError` if the password in a URL has a character that ends it."""
    _, _, password, _ = _split(url)
    if {*password} & {*"@/"}:
        raise ValueError(
            f"The password in {hide_password(url)} has an @ or a /, which ends it in a URL. "
            "Write %40 for @ and %2F for /, or leave the password out and keep it in ~/.pgpass."
        )


def _split(url):
    """Splits a URL into the scheme, the user, the password, and the rest from the host on."""
    scheme, _, rest = str(url).partition("://")
    credentials = re.match(r"([^:@/?#]*):(?!\d+(?:[/?]|$))(.*)@", rest, re.DOTALL)
    if credentials:
        return scheme, *credentials.groups(), rest[credentials.end() :]
    authority = re.match(r"[^/?#]*", rest)[0]
    user, at, _ = authority.rpartition("@")
    return scheme, user.partition(":")[0], user.partition(":")[2], rest[len(user + at) :]
