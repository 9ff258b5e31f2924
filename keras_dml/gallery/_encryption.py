"""Templates encrypted under a key of their person.

Each person has a random key of their own, which encrypts their templates. The key that a gallery is
given encrypts these keys alone, so that a person is forgotten with their key. All is AES-256-GCM as
`cryptography` implements it, with random nonces. What a text was encrypted for (its gallery, its
person's name, whether it is enrolled) is authenticated with it: one that was moved, or a person
who was renamed, is refused. Names, numbers of recordings, dates, thresholds and the model's name
are not encrypted.
"""

import contextlib
import json
import os

from keras_dml.gallery._key import BYTES, aes

NONCE_BYTES = 12
TABLE = (
    "CREATE TABLE keys (gallery TEXT NOT NULL, person INTEGER NOT NULL, wrapped BLOB NOT NULL,"
    " PRIMARY KEY (gallery, person)) STRICT"
)
ITSELF = 0  # no person's number: the row by which the gallery's key is known again
MOST_MARKS = 1000  # in a statement; for more people all keys are read


class DecryptionError(ValueError):
    """The key is another one, or what is encrypted is not as it was written."""


class Keys:
    """The keys of a gallery's people, kept encrypted in a table.

    Args:
        cipher: AES-256-GCM under the key of the gallery.
        gallery: What tells the gallery from any other, a string.
        apart: Database of the table; None: that of the gallery.
    """

    def __init__(self, cipher, gallery, apart=None):
        self._cipher, self._gallery, self._apart = cipher, gallery, apart

    def begin(self, run):
        """Leaves in the table by what the key is known again."""
        self._put(run, ITSELF, _sealed(self._cipher, b"", self._for("gallery")))

    def check(self, run):
        """Raises `DecryptionError` unless this is the gallery's key."""
        found = self._found(run, {ITSELF: None})
        if not found:
            raise DecryptionError("its keys are not here; name the file that holds them")
        try:
            _opened(self._cipher, found[ITSELF], self._for("gallery"))
        except DecryptionError:
            raise DecryptionError("the key is not the one that it was made with") from None

    def of(self, run, people):
        """Keys of people, `{number: PersonKey}`; none of one whose key was destroyed.

        Args:
            run: Function of a statement, within a transaction of the gallery.
            people: Names by the people's numbers, `{number: name}`.

        Raises:
            DecryptionError: If a key is not the one that was written for the person of this name.
        """
        return {
            person: PersonKey(
                aes(_opened(self._cipher, wrapped, self._for("person", people[person]))),
                self._gallery,
            )
            for person, wrapped in self._found(run, people).items()
        }

    def new(self, run, person, name):
        """Makes and keeps the key of a person."""
        key = os.urandom(BYTES)
        self._put(run, person, _sealed(self._cipher, key, self._for("person", name)))
        return PersonKey(aes(key), self._gallery)

    def copy(self, run, person, renamed):
        """Keeps the key of a person under another number and name too.

        Args:
            run: Function of a statement, within a transaction of the gallery.
            person: Number and name of the person.
            renamed: The other number and name.

        Raises:
            DecryptionError: See `of`.
        """
        number, name = person
        for wrapped in self._found(run, {number: name}).values():
            key = _opened(self._cipher, wrapped, self._for("person", name))
            self._put(run, renamed[0], _sealed(self._cipher, key, self._for("person", renamed[1])))

    def destroy(self, run, person):
        """Destroys the key of a person."""
        with self._writing(run) as run:
            run("DELETE FROM keys WHERE gallery = ? AND person = ?", (self._gallery, person))
        if self._apart is not None:
            self._apart.forget()

    def _writing(self, run):
        return contextlib.nullcontext(run) if self._apart is None else self._apart.writing()

    def _reading(self, run):
        return contextlib.nullcontext(run) if self._apart is None else self._apart.reading()

    def _put(self, run, person, wrapped):
        with self._writing(run) as run:
            run("INSERT INTO keys VALUES (?, ?, ?)", (self._gallery, person, wrapped))

    def _found(self, run, people):
        query, values = "SELECT person, wrapped FROM keys WHERE gallery = ?", [self._gallery]
        if len(people) <= MOST_MARKS:
            query += f" AND person IN ({', '.join('?' * len(people))})"
            values += people
        with self._reading(run) as run:
            rows = run(query, values).fetchall()
        return {person: wrapped for person, wrapped in rows if person in people}

    def _for(self, *purpose):
        return json.dumps([self._gallery, *purpose]).encode()


class PersonKey:
    """Encrypts the templates of one person.

    Args:
        cipher: AES-256-GCM under the person's key.
        gallery: See `Keys`.
    """

    def __init__(self, cipher, gallery):
        self._cipher, self._gallery = cipher, gallery

    def seal(self, embedding, enrolled):
        """Encrypts the bytes of an embedding, which is the person's own or marked as not theirs."""
        return _sealed(self._cipher, embedding, self._for(enrolled))

    def open(self, sealed, enrolled):
        """The bytes that were encrypted.

        Raises:
            DecryptionError: If they were encrypted by another key, for another gallery or as the
                other kind, or are damaged.
        """
        return _opened(self._cipher, sealed, self._for(enrolled))

    def _for(self, enrolled):
        return json.dumps([self._gallery, "template", bool(enrolled)]).encode()


class NoKeys:
    """In place of `Keys` in a gallery without a key: nothing is encrypted."""

    def of(self, run, people):
        return dict.fromkeys(people, self)

    def new(self, run, person, name):
        return self

    def copy(self, run, person, renamed):
        pass

    def destroy(self, run, person):
        pass

    def seal(self, embedding, enrolled):
        return embedding

    def open(self, sealed, enrolled):
        return sealed


def _sealed(cipher, text, purpose):
    nonce = os.urandom(NONCE_BYTES)
    return nonce + cipher.encrypt(nonce, text, purpose)


def _opened(cipher, sealed, purpose):
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], purpose)
    except (InvalidTag, ValueError):
        raise DecryptionError("what is encrypted was changed, moved or damaged") from None
