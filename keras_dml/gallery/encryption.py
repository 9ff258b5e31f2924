"""Encrypts templates (stored embeddings) with the key of a gallery and a key for each person.

A random key for each person encrypts the templates of this person. The key of the gallery encrypts
only the keys of the people. If a person's key is destroyed, nobody can read the person's templates
any more, not even in backups (crypto shredding). The cipher is AES-256-GCM of the package
`cryptography` with random nonces. The authentication of each ciphertext covers the gallery, the
name of the person and the flag that marks enrolled templates. Decryption therefore fails if another
program has moved a ciphertext to another row or has renamed the person. Names, numbers of
recordings, dates, thresholds and the name of the model are not encrypted.
"""

import base64
import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

from keras_dml import _messages
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.gallery.permissions import NotPrivate, refuse_if_shared

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from keras_dml.gallery.sqlite import SQLiteFile
    from keras_dml.gallery.store import Run

ENVIRONMENT = "KERAS_DML_GALLERY_KEY"
KEYRING = "keyring:"
SERVICE = "keras-dml"  # name of the service in the keyring
BYTES = 32  # size of a key
NONCE_BYTES = 12
ITSELF = 0  # number of the row that tests the key of the gallery
MOST_MARKS = 1000  # marks `?` in a statement. For more people, all keys are read.


class DecryptionError(ValueError):
    """Error for a wrong key, or for a ciphertext that was changed after it was written."""


class GalleryKey:
    """Cipher and seal key, derived from the secret key of a gallery. The object does not store the
    secret key.

    Args:
        secret: Key of 32 bytes.
        path: Path of the file from which the key was read, or None.

    Attributes:
        cipher: AES-256-GCM with the key.
        seals: Key with which rows are sealed. HKDF (RFC 5869) derives the seal key from `secret`.
        path: Path of the file from which the key was read, or None.

    Raises:
        ImportError: If `cryptography` is not installed.
    """

    def __init__(self, secret: bytes, path: Path | None = None):
        self.cipher: Any = aes(secret)
        self.path = path
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        derivation = HKDF(hashes.SHA256(), BYTES, salt=None, info=b"keras-dml seals of a gallery")
        self.seals: bytes = derivation.derive(secret)


def read_key(key: bytes | Path | None) -> GalleryKey | None:
    """Reads the key of a gallery.

    Args:
        key: Key of 32 bytes, the path of a file, or `"keyring:NAME"`. The file contains the 32
            bytes, raw or in base64. `"keyring:NAME"` selects the password NAME of the service
            `keras-dml` in the system's keyring. The password is the key in base64. Default: the
            value of the environment variable KERAS_DML_GALLERY_KEY, in base64, if the variable is
            set.

    Returns:
        The key, or None if no key is given.

    Raises:
        ImportError: If `cryptography` or `keyring` is needed and not installed.
        TypeError: If `key` has another type.
        ValueError: If the source does not contain 32 bytes, or if the keyring does not contain the
            password NAME.
        FileNotFoundError: If the file cannot be read.
        PermissionError: If users other than the owner may read the file.
    """
    if key is None:
        text = os.environ.get(ENVIRONMENT)
        return None if text is None else _decoded(text, f"The variable {ENVIRONMENT}")
    if isinstance(key, bytes):
        return _decoded(key, _messages.name("key"))
    if isinstance(key, str) and key.startswith(KEYRING):
        return _decoded(_from_keyring(key.removeprefix(KEYRING)), "The password of the keyring")
    if isinstance(key, str | os.PathLike):
        return _decoded(_from_file(key), "The content of the key file", key)
    raise TypeError(
        Message(
            "{key} is of type {type}, but it must be {count} bytes, the path of a file, or "
            "'{keyring}NAME'.",
            type=type(key).__name__,
            count=BYTES,
            keyring=KEYRING,
        )
    )


def _from_file(path):
    try:
        with open(path, "rb") as file:
            refuse_if_shared(file.fileno(), "The key file")
            return file.read()
    except NotPrivate:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
    # The message does not repeat the path, because a user may have given the key itself instead of
    # a path.
    raise FileNotFoundError(
        Message(
            "{key} names no file that can be read ({reason}). Give the path of a key file, or give "
            "the key itself, which has {count} bytes.",
            reason=reason,
            count=BYTES,
        )
    )


def _from_keyring(name):
    try:
        import keyring
    except ImportError:
        raise ImportError("A key in the system's keyring needs: pip install keyring.") from None
    password = keyring.get_password(SERVICE, name)
    if password is None:
        raise ValueError(
            f"The keyring has no password of this name. Set it by `keyring set {SERVICE} NAME`."
        )
    return password


def _decoded(text, source, path=None):
    if not (isinstance(text, bytes) and len(text) == BYTES):
        try:
            text = base64.b64decode(text.strip(), validate=True)
        except ValueError:
            text = b""
    if len(text) != BYTES:
        raise ValueError(
            Message(
                "{source} must be {count} random bytes, or the base64 text of such bytes, but it "
                "is neither. Make a key by `openssl rand -base64 {count}`.",
                source=source,
                count=BYTES,
            )
        )
    return GalleryKey(text, path)


def aes(key: bytes) -> "AESGCM":
    """Returns the cipher AES-256-GCM with a key of 32 bytes.

    Raises:
        ImportError: If `cryptography` is not installed. The message names the extra to install.
    """
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise ImportError(
            'An encrypted gallery needs: pip install "keras-dml[encryption]".'
        ) from None
    return AESGCM(key)


def check_given(path: Path, mark: str | None, key: GalleryKey | None) -> None:
    """Checks that a key is given for an encrypted gallery, and that no key is given for an
    unencrypted gallery.

    Args:
        path: Path of the gallery, for error messages.
        mark: Value in the table `about` that marks an encrypted gallery. None if the gallery is not
            encrypted.
        key: Output of `read_key`.

    Raises:
        ValueError: If exactly one of `mark` and `key` is None.
    """
    if mark is None and key is not None:
        raise ValueError(
            Message(
                "{path} is not encrypted, but a key was given by {key} or by {environment}. Open "
                "the gallery without a key. To encrypt its people, merge it into a new gallery "
                "with a key.",
                path=path,
                environment=ENVIRONMENT,
            )
        )
    if mark is not None and key is None:
        raise ValueError(
            Message(
                "{path} is encrypted. Give its key by {key} or by {environment}.",
                path=path,
                environment=ENVIRONMENT,
            )
        )


def check_keys(key: GalleryKey | None, keys: Path | None, is_server: bool) -> None:
    """Checks that a file with people's keys is given if and only if the gallery needs this file.

    Args:
        key: Output of `read_key`.
        keys: Path of the file with the people's keys, or None.
        is_server: Whether the gallery is on a server.

    Raises:
        ValueError: If the gallery needs the file and `keys` is None, or if the gallery does not
            need the file and `keys` is given.
    """
    if keys is not None and not (is_server and key):
        raise ValueError(
            Message(
                "{keys} is given, but only an encrypted gallery on a server has a file of the "
                "people's keys. A gallery in a file contains these keys. Leave out {keys}, and set "
                "only {key}."
            )
        )
    if key and is_server and keys is None:
        raise ValueError(
            Message(
                "{keys} is missing. An encrypted gallery on a server keeps the keys of its people "
                "in a separate file, so that a person can be forgotten on the server and in its "
                "backups. Set {keys} to the path of a file."
            )
        )


class Keys:
    """The keys of a gallery's people, encrypted in the table `keys`.

    Args:
        cipher: AES-256-GCM with the key of the gallery.
        gallery: Text that identifies the gallery.
        file: File that contains the table `keys`. If None, the table is in the gallery.
    """

    def __init__(self, cipher: "AESGCM", gallery: str, file: "SQLiteFile | None" = None):
        self._cipher, self._gallery, self._file = cipher, gallery, file

    def begin(self, run: "Run") -> None:
        """Writes a row that `check` can decrypt only with the key of the gallery."""
        self._write(run, ITSELF, _encrypt(self._cipher, b"", self._purpose("gallery")))

    def check(self, run: "Run") -> None:
        """Raises `DecryptionError` if the cipher's key is not the key of the gallery."""
        wrapped = self._read(run, {ITSELF: None})
        if not wrapped:
            raise DecryptionError(
                "the keys of the gallery are missing. Name the file that contains these keys"
            )
        try:
            _decrypt(self._cipher, wrapped[ITSELF], self._purpose("gallery"))
        except DecryptionError:
            raise DecryptionError("the gallery was made with another key") from None

    def keys_of(self, run: "Run", people: dict[int, str]) -> "dict[int, PersonKey]":
        """Returns `{number: key}` for the people whose key was not destroyed.

        Args:
            run: Function that executes a statement in a transaction of the gallery.
            people: Name of each person, `{number: name}`.

        Raises:
            DecryptionError: If a stored key belongs to a person with another name.
        """
        return {
            person: PersonKey(
                aes(_decrypt(self._cipher, wrapped, self._purpose("person", people[person]))),
                self._gallery,
            )
            for person, wrapped in self._read(run, people).items()
        }

    def new(self, run: "Run", person: int, name: str) -> "PersonKey":
        """Creates and stores the key of a person."""
        key = os.urandom(BYTES)
        self._write(run, person, _encrypt(self._cipher, key, self._purpose("person", name)))
        return PersonKey(aes(key), self._gallery)

    def copy(self, run: "Run", person: tuple[int, str], renamed: tuple[int, str]) -> None:
        """Stores the key of a person again, under a new number and name.

        Args:
            run: Function that executes a statement in a transaction of the gallery.
            person: Number and name of the person.
            renamed: New number and name of the person.

        Raises:
            DecryptionError: If the stored key belongs to a person with another name.
        """
        number, name = person
        for wrapped in self._read(run, {number: name}).values():
            key = _decrypt(self._cipher, wrapped, self._purpose("person", name))
            purpose = self._purpose("person", renamed[1])
            self._write(run, renamed[0], _encrypt(self._cipher, key, purpose))

    def of_strangers(self) -> "PersonKey":
        """Returns the key that encrypts observations of strangers, the key of the gallery."""
        return PersonKey(self._cipher, self._gallery)

    def destroy(self, run: "Run | None", person: int) -> None:
        """Destroys the key of a person."""
        with self._writing(run) as run:
            run("DELETE FROM keys WHERE gallery = ? AND person = ?", (self._gallery, person))
        if self._file is not None:
            self._file.cut_log()

    def _writing(self, run):
        return contextlib.nullcontext(run) if self._file is None else self._file.writing()

    def _reading(self, run):
        return contextlib.nullcontext(run) if self._file is None else self._file.reading()

    def _write(self, run, person, wrapped):
        with self._writing(run) as run:
            run("INSERT INTO keys VALUES (?, ?, ?)", (self._gallery, person, wrapped))

    def _read(self, run, people):
        query, values = "SELECT person, wrapped FROM keys WHERE gallery = ?", [self._gallery]
        if len(people) <= MOST_MARKS:
            query += f" AND person IN ({', '.join('?' * len(people))})"
            values += people
        with self._reading(run) as run:
            rows = run(query, values).fetchall()
        return {person: wrapped for person, wrapped in rows if person in people}

    def _purpose(self, *parts):
        return json.dumps([self._gallery, *parts]).encode()


class PersonKey:
    """Key that encrypts the templates of one person.

    Args:
        cipher: AES-256-GCM with the person's key.
        gallery: Text that identifies the gallery.
    """

    def __init__(self, cipher: "AESGCM", gallery: str):
        self._cipher, self._gallery = cipher, gallery

    def encrypt(self, embedding: bytes, enrolled: bool) -> bytes:
        """Encrypts the bytes of an embedding.

        Args:
            embedding: Bytes of the embedding.
            enrolled: True for an enrolled template, False for a template that `reject` stored.
        """
        return _encrypt(self._cipher, embedding, self._purpose(enrolled))

    def decrypt(self, ciphertext: bytes, enrolled: bool) -> bytes:
        """Returns the bytes of an embedding that `encrypt` has encrypted.

        Raises:
            DecryptionError: If the ciphertext is damaged, or if it was encrypted with another key,
                for another gallery or with another value of `enrolled`.
        """
        return _decrypt(self._cipher, ciphertext, self._purpose(enrolled))

    def encrypt_observation(self, embedding: bytes, created: str, expires: str) -> bytes:
        """Encrypts the bytes of an observed embedding.

        Args:
            embedding: Bytes of the embedding.
            created: Time of the observation. The ciphertext cannot be decrypted with another time.
            expires: Time at which the observation expires, as `created`.
        """
        return _encrypt(self._cipher, embedding, self._purpose_of_observation(created, expires))

    def decrypt_observation(self, ciphertext: bytes, created: str, expires: str) -> bytes:
        """Returns the bytes of an embedding that `encrypt_observation` has encrypted.

        Raises:
            DecryptionError: If the ciphertext or a time was changed, or if the ciphertext was
                encrypted with another key.
        """
        return _decrypt(self._cipher, ciphertext, self._purpose_of_observation(created, expires))

    def _purpose(self, enrolled):
        return json.dumps([self._gallery, "template", bool(enrolled)]).encode()

    def _purpose_of_observation(self, *times):
        return json.dumps([self._gallery, "observation", *times]).encode()


class NoKeys:
    """Replacement for `Keys` and `PersonKey` in an unencrypted gallery. Encrypts nothing."""

    def keys_of(self, run: "Run", people: dict[int, str]) -> "dict[int, NoKeys]":
        return dict.fromkeys(people, self)

    def new(self, run: "Run", person: int, name: str) -> "NoKeys":
        return self

    def copy(self, run: "Run", person: tuple[int, str], renamed: tuple[int, str]) -> None:
        pass

    def destroy(self, run: "Run | None", person: int) -> None:
        pass

    def encrypt(self, embedding: bytes, enrolled: bool) -> bytes:
        return embedding

    def decrypt(self, ciphertext: bytes, enrolled: bool) -> bytes:
        return ciphertext


def _encrypt(cipher, text, purpose):
    nonce = os.urandom(NONCE_BYTES)
    return nonce + cipher.encrypt(nonce, text, purpose)


def _decrypt(cipher, ciphertext, purpose):
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(ciphertext[:NONCE_BYTES], ciphertext[NONCE_BYTES:], purpose)
    except (InvalidTag, ValueError):
        raise DecryptionError(
            "the encrypted data of the gallery were changed, moved or damaged"
        ) from None
