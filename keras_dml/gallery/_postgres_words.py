"""What is said to a PostgreSQL server."""

import urllib.parse

import numpy as np

VERSION = 1
NAMESPACE = "keras_dml"
MARK = f"people enrolled by keras-dml, version {VERSION}"  # comment of the schema
LOCK = 0x6B646D6C  # "kdml", of those who may make the schema
TYPES = {  # of SQLite, in PostgreSQL's words
    "INTEGER PRIMARY KEY": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "INTEGER": "bigint",
    "BLOB": "bytea",
    "REAL": "double precision",
    "TEXT": 'text COLLATE "C"',
    " STRICT": "",
}
CHANGES = (  # one row, which a writer locks
    "CREATE TABLE changes (number bigint NOT NULL)",
    "INSERT INTO changes VALUES (0)",
)
UNSAMPLED = (  # ANALYZE would copy some of the values into a table that no purge rewrites
    "ALTER TABLE templates ALTER COLUMN embedding SET STATISTICS 0",
    "ALTER TABLE people ALTER COLUMN name SET STATISTICS 0",
)
INDEX = (
    "CREATE TABLE nearest (template bigint PRIMARY KEY REFERENCES templates ON DELETE CASCADE,"
    " person bigint NOT NULL, vector halfvec({numbers}) NOT NULL)",
    "ALTER TABLE nearest ALTER COLUMN vector SET STATISTICS 0",
    "CREATE INDEX nearest_vectors ON nearest USING hnsw (vector halfvec_{metric}_ops)",
)
FIND_VECTOR = (
    "SELECT extversion, extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector'"
)
FIND_NAMESPACE = (
    f"SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = '{NAMESPACE}'"
)
_RELATIONS = (
    "FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
    f"AND nspname = '{NAMESPACE}'"
)
FIND_THINGS = (
    f"SELECT relkind::text || ' ' || relname {_RELATIONS} AND relkind NOT IN ('i', 'S') "
    f"UNION SELECT 'trigger ' || tgname {_RELATIONS} JOIN pg_trigger ON tgrelid = pg_class.oid "
    "AND NOT tgisinternal "
    f"UNION SELECT 'rule ' || rulename {_RELATIONS} JOIN pg_rewrite ON ev_class = pg_class.oid"
)
FIND_LOG = (
    "SELECT current_setting('max_wal_size'), current_setting('archive_mode') <> 'off', "
    "(SELECT count(*) FROM pg_replication_slots)"
)


def made(schema):
    """Statements that make a gallery of its tables in SQLite's words."""
    translated = []
    for statement in schema:
        for name, own in TYPES.items():
            statement = statement.replace(name, own)
        translated.append(statement)
    return [
        f"CREATE SCHEMA {NAMESPACE}",
        f"COMMENT ON SCHEMA {NAMESPACE} IS '{MARK}'",
        *translated,
        *CHANGES,
        *UNSAMPLED,
    ]


def things(schema):
    """What `FIND_THINGS` finds where nobody has changed anything, but for the index."""
    tables = [one.split()[2] for one in (*schema, *CHANGES) if one.startswith("CREATE TABLE")]
    return {f"r {table}" for table in tables}


def halved(vector):
    """A vector in 16 bits.

    Raises:
        ValueError: If a number is too large for them.
    """
    with np.errstate(over="ignore"):
        half = vector.astype(np.float16)
    if not np.isfinite(half).all():
        raise ValueError(
            f"An index of a server holds numbers up to {np.finfo(np.float16).max:,.0f}; an "
            f"embedding has {np.abs(vector).max():.3g}. Give the model recordings in a larger "
            "unit, or keep its people in a file."
        )
    return half


def remains(most_of_log, is_archived, slots):
    """Where removed templates may still be after tables and index were written anew."""
    places = [
        "The server's write-ahead log: its files keep what was removed until they are written "
        f"over (at most {most_of_log} of them is kept by default; `max_wal_size`)."
    ]
    if is_archived:
        places.append("The archive of the write-ahead log, as long as it is kept.")
    if slots:
        places.append(
            f"The write-ahead log kept for {slots} replication slots, and their replicas."
        )
    places.append("Backups and snapshots of the server's disk that were made before.")
    return tuple(places)


def without_password(url):
    """A URL as it may be shown."""
    parts = urllib.parse.urlsplit(str(url))
    user, _, place = parts.netloc.rpartition("@")
    shown = f"{user.partition(':')[0]}@{place}" if user else place
    options = urllib.parse.parse_qsl(parts.query)
    query = urllib.parse.urlencode([one for one in options if "password" not in one[0]], safe="/")
    return urllib.parse.urlunsplit((parts.scheme, shown, parts.path, query, ""))
