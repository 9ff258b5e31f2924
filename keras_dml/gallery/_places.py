"""Where a gallery is: in a file or on a server."""

from keras_dml.gallery import _postgres_words
from keras_dml.gallery._sqlite import SQLiteFile

URLS = ("postgresql://", "postgres://")
APPLICATION = 0x6B646D6C  # "kdml", the file's application id


def is_url(path):
    """Whether a gallery is on a server.

    Raises:
        ValueError: If the path is a URL of something else.
    """
    kind, separator, _ = str(path).partition("://")
    if separator and f"{kind}{separator}" not in URLS:
        raise ValueError(
            f"A gallery is a file, or a database at {URLS[0]}user:password@host:port/database. "
            f"Received a URL that begins with {kind}{separator}"
        )
    return bool(separator)


def hide_password(path):
    """Returns the path of a gallery as it may be printed: a URL comes without its password."""
    return _postgres_words.without_password(path) if "://" in str(path) else str(path)


def database(path, schema, of_keys, seal):
    """The database of a path or URL.

    Args:
        path: Path of a file, or URL.
        schema: Statements that make the tables.
        of_keys: Those that make the table of keys, which a file alone has.
        seal: Function of a function of a statement, which seals what an earlier release wrote.

    Raises:
        ImportError: If it is a URL and the driver is not installed.
    """
    if not is_url(path):
        return SQLiteFile(path, schema + of_keys, APPLICATION, upgrade=seal)
    from keras_dml.gallery._postgres import PostgresDatabase  # needs an extra

    return PostgresDatabase(path, schema, seal)
