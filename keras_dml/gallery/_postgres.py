"""A gallery's tables on a PostgreSQL server, with an index of pgvector.

One gallery a database, in a schema of its own. The index holds vectors of 16 bits in clear,
whatever the key: no index works on what is encrypted.
"""

import contextlib
import os
import sys
import threading

from keras_dml.gallery import _postgres_words as words


@contextlib.contextmanager
def _bound_to_their_libraries():
    """Binds the libraries of the block to the libraries that they come with.

    TensorFlow exports the functions of its BoringSSL to the whole process. Without this, libpq
    calls them in place of OpenSSL's, and the first connection by TLS is a segmentation fault.
    """
    if not hasattr(os, "RTLD_DEEPBIND"):  # only glibc has one space of names for all libraries
        yield
        return
    flags = sys.getdlopenflags()
    sys.setdlopenflags(flags | os.RTLD_DEEPBIND)
    try:
        yield
    finally:
        sys.setdlopenflags(flags)


try:
    with _bound_to_their_libraries():
        import psycopg
        from pgvector import HalfVector
        from pgvector.psycopg import register_vector
except ImportError:
    raise ImportError(
        'A gallery on a PostgreSQL server needs: pip install "keras-dml[postgres]".'
    ) from None

PGVECTOR = (0, 8, 4)  # before, deletions could damage an index of this kind (its changelog)
WAIT_SECONDS = 30  # for another writer, for a connection
MOST_NUMBERS = 4000  # of an indexed `halfvec`
CANDIDATES = 200  # nearest vectors that are asked of the index
OPERATORS = {"l1": "<+>", "l2": "<->"}
UNKNOWN = "A change that was under way may have been kept or not: look before you repeat it."


class PostgresDatabase:
    """A database on a server, with the interface of `SQLiteFile`.

    Writers wait for each other, readers for nobody. A lost connection is made again at the next
    call.

    Args:
        url: `postgresql://user:password@host:port/database`.
        schema: Statements that make the tables, in SQLite's words.
        upgrade: As of `SQLiteFile`.

    Attributes:
        path: The URL without its password.

    Raises:
        ValueError: If it is no URL, or what is there is no gallery.
        OSError: If the server cannot be used.
    """

    is_server = True

    def __init__(self, url, schema, upgrade):
        words.check_password(url)
        self.path = words.without_password(url)
        self._url, self._schema, self._upgrade = str(url), schema, upgrade
        self._lock = threading.RLock()
        self._index = self._counted = None
        self._is_closed = False
        self._connection = self._connected()

    def _connected(self):
        with self._explained("Nothing was changed."), contextlib.ExitStack() as opened:
            connection = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=WAIT_SECONDS,
                application_name="keras-dml",
            )
            opened.enter_context(contextlib.closing(connection))
            self._prepare(connection)
            opened.pop_all()
        return connection

    def _prepare(self, connection):
        run = connection.execute
        with connection.transaction():
            run("SELECT pg_advisory_xact_lock(%s)", (words.LOCK,))  # one makes what others find
            with self._permitted(
                "it has no extension `vector`, and this role may not create it. Let a superuser "
                "run `CREATE EXTENSION vector` in this database"
            ):
                run("CREATE EXTENSION IF NOT EXISTS vector")
            version, place = run(words.FIND_VECTOR).fetchone()
            if tuple(map(int, version.split("."))) < PGVECTOR:
                raise ValueError(
                    f"{self.path} has pgvector {version}; a gallery needs "
                    f"{'.'.join(map(str, PGVECTOR))} or later. Update it on the server, then run "
                    "`ALTER EXTENSION vector UPDATE`."
                )
            run("SELECT set_config('search_path', %s, false)", (f"{words.NAMESPACE}, {place}",))
            run("SELECT set_config('lock_timeout', %s, false)", (f"{WAIT_SECONDS}s",))
            if not run(words.FIND_NAMESPACE).fetchone():
                with self._permitted(
                    "it holds no gallery, and this role may not make one. Let its owner run "
                    "`GRANT CREATE ON DATABASE NAME TO ROLE`, or use the role of its owner"
                ):
                    for statement in words.made(self._schema):
                        run(statement)
            self._add_later_tables(connection)
            self._check_kind(run)
            if not run(words.MAY_READ).fetchone()[0]:
                raise PermissionError(
                    f"{self.path} cannot be used: this role may not use its gallery. Let the role "
                    f"that made the gallery run `GRANT USAGE ON SCHEMA {words.NAMESPACE} TO ROLE` "
                    "and `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "
                    f"{words.NAMESPACE} TO ROLE`."
                )
        register_vector(connection)

    @contextlib.contextmanager
    def _permitted(self, reason):
        """Names what is missing if the role lacks a privilege."""
        try:
            yield
        except psycopg.errors.InsufficientPrivilege:
            raise PermissionError(f"{self.path} cannot be used: {reason}.") from None

    def _add_later_tables(self, connection):
        """Adds the tables that a gallery of an earlier version lacks."""
        run = connection.execute
        (mark,) = run(words.FIND_NAMESPACE).fetchone()
        if mark not in words.LATER:
            return
        with self._permitted(
            "an earlier release made its gallery, which lacks tables. Let the role that made the "
            f"gallery open it once, and then run `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL "
            f"TABLES IN SCHEMA {words.NAMESPACE} TO ROLE`"
        ):
            for statement in words.added(self._schema, mark):
                run(statement)
        self._upgrade(_in_words_of_sqlite(connection))

    def _check_kind(self, run):
        (mark,) = run(words.FIND_NAMESPACE).fetchone()
        if mark != words.MARK:
            raise ValueError(
                f"The schema {words.NAMESPACE} of {self.path} is no gallery of this release: it "
                f"says {mark!r}, expected {words.MARK!r}. Name another database."
            )
        found = {name for (name,) in run(words.FIND_THINGS).fetchall()}
        if found - {"r nearest"} != words.things(self._schema):
            raise ValueError(
                f"The schema {words.NAMESPACE} of {self.path} holds tables, views, rules or "
                "triggers that no gallery has, or lacks one. Somebody has changed it: do not use "
                "it."
            )

    def close(self):
        """Closes the connection."""
        self._is_closed = True
        self._connection.close()

    def _live(self):
        if self._is_closed:
            raise ValueError(f"{self.path} is closed: open it again.")
        if self._connection.closed:  # the server was restarted
            self._connection = self._connected()
        return self._connection

    @contextlib.contextmanager
    def writing(self):
        """A change, done whole or not at all.

        Yields:
            A function of a statement and the values of its marks, which returns a cursor.
        """
        with self._transaction() as run:
            run("UPDATE changes SET number = number + 1")  # the next writer waits here
            yield run

    def counting(self):
        """A change of what is counted about claims, for which other writers do not wait."""
        return self._transaction()

    @contextlib.contextmanager
    def reading(self):
        """A view of one moment; yields what `writing` does."""
        with self._transaction() as run:
            run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield run

    def among(self, column, values):
        """A condition that a column is one of any number of texts, and the value of its mark."""
        return f"{column} = ANY(?)", list(values)

    @contextlib.contextmanager
    def _transaction(self):
        with self._lock, self._explained():
            connection = self._live()
            with connection.transaction():
                yield _in_words_of_sqlite(connection)

    def index_by(self, run, index):
        """Makes the index, if there is none, and remembers how embeddings enter it.

        Args:
            run: Function of a statement, within a transaction.
            index: Function that gives the model's `Index`.

        Raises:
            ValueError: If the embeddings cannot be indexed.
        """
        self._index = index()
        if self._index is None:
            raise ValueError(
                "The model's distance has no `index_vectors` (`keras_dml.distances.Distance`), "
                "which the index of a server needs: keep its people in a file."
            )
        if self._index.numbers > MOST_NUMBERS:
            raise ValueError(
                f"An index of a server takes vectors of up to {MOST_NUMBERS:,} numbers, and this "
                f"model's embeddings have {self._index.numbers:,}: keep its people in a file, or "
                "train a model with fewer, such as by a smaller `keras_dml.layers.TangentMap`."
            )
        if not run("SELECT to_regclass(?)", (f"{words.NAMESPACE}.nearest",)).fetchone()[0]:
            for statement in words.INDEX:
                run(statement.format(numbers=self._index.numbers, metric=self._index.metric))

    def index(self, run, template, person, embedding):
        """Enters an enrolled template into the index."""
        vector = words.halved(self._index.vectors(embedding)[0])
        values = (template, person, HalfVector(vector))
        run("INSERT INTO nearest VALUES (?, ?, ?)", values)

    def candidates(self, embeddings):
        """People near to embeddings.

        Args:
            embeddings: Shape `(count, ...)`.

        Returns:
            Names of those whose templates are the nearest by the index, and the number of all.
        """
        query = (
            "SELECT DISTINCT people.name FROM people JOIN (SELECT person FROM nearest ORDER BY "
            f"vector {OPERATORS[self._index.metric]} ? LIMIT {CANDIDATES}) AS near "
            "ON near.person = people.id"
        )
        with self.reading() as run:
            run(f"SET LOCAL hnsw.ef_search = {CANDIDATES}")
            names = set()
            for vector in self._index.vectors(embeddings):
                values = (HalfVector(words.halved(vector)),)
                names.update(name for (name,) in run(query, values).fetchall())
            return sorted(names), self._number_of_people(run)

    def _number_of_people(self, run):
        """Counted again after changes only: a million take 50 ms."""
        (changes,) = run("SELECT number FROM changes").fetchone()
        if self._counted is None or self._counted[0] != changes:
            self._counted = changes, run("SELECT count(*) FROM people").fetchone()[0]
        return self._counted[1]

    def forget(self):
        """Nothing: only `purge` rewrites what a server has stored."""

    def purge(self):
        """Writes tables and index anew, without what was removed; others wait meanwhile.

        Returns:
            Where removed templates may still be, sentences.

        Raises:
            PermissionError: If the role does not own the tables: the server would only warn.
        """
        with self._lock, self._explained():
            run = self._live().execute
            if run(words.FIND_FOREIGN).fetchone():
                raise PermissionError(
                    f"{self.path} was not written anew, which only the role that made the gallery "
                    "may do: run this command as that role. What was removed before is removed, "
                    "and the server's disk keeps it until then."
                )
            tables = [name for (name,) in run(words.FIND_THINGS).fetchall() if name[0] == "r"]
            for table in tables:
                run(f"VACUUM (FULL, ANALYZE) {words.NAMESPACE}.{table.removeprefix('r ')}")
            with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
                run("CHECKPOINT")
            return words.remains(*run(words.FIND_LOG).fetchone())

    @contextlib.contextmanager
    def _explained(self, if_lost=UNKNOWN):
        try:
            yield
        except psycopg.Error as error:
            kind, said = _explanation(self.path, error, if_lost)
            raise kind(said) from None


def _in_words_of_sqlite(connection):
    """Returns a function of a statement with the marks of SQLite and their values."""
    return lambda query, values=(): connection.execute(
        query.replace("?", "%s"), values, binary=True
    )


def _explanation(path, error, if_lost):
    """Kind and message of the error to raise for one of the driver.

    Only the first line of what the server says is repeated: the others may hold values.
    """
    said = error.diag.message_primary or str(error).partition("\n")[0]
    if isinstance(error, psycopg.errors.LockNotAvailable):
        return TimeoutError, f"Another process has been writing to {path} too long: try again."
    if isinstance(error, psycopg.errors.UndefinedFile | psycopg.errors.FeatureNotSupported):
        return OSError, f"{path} has no pgvector: install it on the server ({said})."
    if isinstance(error, psycopg.OperationalError):
        return OSError, f"{path} cannot be used: {said}. {if_lost}"
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return PermissionError, (
            f"{path} cannot be used: {said}. Let the role that made the gallery grant what is "
            "missing. Nothing was changed."
        )
    if isinstance(error, psycopg.IntegrityError | psycopg.DataError):
        return ValueError, f"{path} did not take it: {said}. Nothing was changed."
    if error.sqlstate is None:  # not of the server: the URL could not be read, which may be secret
        return ValueError, (
            f"{path} cannot be reached: expected a URL such as "
            "postgresql://user:password@host:port/database."
        )
    return OSError, f"{path} cannot be used: {said}. Nothing was changed."
