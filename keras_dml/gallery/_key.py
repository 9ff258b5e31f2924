"""The key of a gallery: where it comes from, and which galleries take one."""

import base64
import os

from keras_dml.gallery._modes import NotPrivate, refuse_if_shared

ENVIRONMENT = "KERAS_DML_GALLERY_KEY"
KEYRING = "keyring:"
SERVICE = "keras-dml"  # of the keyring
BYTES = 32


class GalleryKey:
    """The key of a gallery. Its bytes are not kept.

    Args:
        secret: 32 bytes.
        path: Path of the file that held them, or None.

    Attributes:
        cipher: AES-256-GCM under the key.
        seals: The key of the seals, which HKDF derives (RFC 5869).
        path: The path.

    Raises:
        ImportError: If `cryptography` is not installed.
    """

    def __init__(self, secret, path=None):
        self.cipher, self.path = aes(secret), path
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        derivation = HKDF(hashes.SHA256(), BYTES, salt=None, info=b"keras-dml seals of a gallery")
        self.seals = derivation.derive(secret)


def read_key(key):
    """Reads the key of a gallery.

    Args:
        key: 32 bytes; the path of a file of them, raw or in base64; `"keyring:NAME"`, the password
            of that name of the service `keras-dml` in the system's keyring, in base64; None: what
            the environment variable KERAS_DML_GALLERY_KEY holds, in base64, if it is set.

    Returns:
        `GalleryKey`, or None if there is no key.

    Raises:
        ImportError: If `cryptography`, or the keyring, is not installed.
        TypeError: If it is none of these.
        ValueError: If what is there is no key, or the keyring has no such password.
        FileNotFoundError: If there is no such file.
        PermissionError: If others than its owner may read the file.
    """
    if key is None:
        found = os.environ.get(ENVIRONMENT)
        return found if found is None else _decoded(found, f"What {ENVIRONMENT} holds")
    if isinstance(key, bytes):
        return _decoded(key, "`key`")
    if isinstance(key, str) and key.startswith(KEYRING):
        return _decoded(_from_keyring(key.removeprefix(KEYRING)), "What the keyring holds")
    if isinstance(key, str | os.PathLike):
        return _decoded(_from_file(key), "What the key file holds", key)
    raise TypeError(
        f"`key` must be {BYTES} bytes, the path of a file, or '{KEYRING}NAME'. Received "
        f"{type(key).__name__}."
    )


def _from_file(path):
    try:
        with open(path, "rb") as file:
            refuse_if_shared(file.fileno(), "The key file")
            return file.read()
    except NotPrivate:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no path"
    # the path is not repeated: it may be a key that was given in its place
    raise FileNotFoundError(
        f"`key` names no file that can be read ({reason}). Give the path of a key file, or the key "
        f"itself as {BYTES} bytes."
    )


def _from_keyring(name):
    try:
        import keyring
    except ImportError:
        raise ImportError("A key in the system's keyring needs: pip install keyring.") from None
    found = keyring.get_password(SERVICE, name)
    if found is None:
        raise ValueError(
            f"The keyring has no such password: set it by `keyring set {SERVICE} NAME`."
        )
    return found


def _decoded(text, where, path=None):
    if not (isinstance(text, bytes) and len(text) == BYTES):
        try:
            text = base64.b64decode(text.strip(), validate=True)
        except ValueError:
            text = b""
    if len(text) != BYTES:
        raise ValueError(
            f"{where} is no key: {BYTES} random bytes, or their base64. Make one by "
            f"`openssl rand -base64 {BYTES}`."
        )
    return GalleryKey(text, path)


def aes(key):
    """AES-256-GCM under a key of 32 bytes.

    Raises:
        ImportError: If `cryptography` is not installed; the message names the extra.
    """
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise ImportError(
            'An encrypted gallery needs: pip install "keras-dml[encryption]".'
        ) from None
    return AESGCM(key)


def check_given(path, mark, key):
    """Refuses a key for a gallery without, and the other way round.

    Args:
        path: Path of the gallery.
        mark: What an encrypted gallery says of itself; None: it is not encrypted.
        key: What `read_key` gave.

    Raises:
        ValueError: If only one of `mark` and `key` is None.
    """
    if mark is None and key is not None:
        raise ValueError(
            f"{path} is not encrypted, but a key was given, by `key` or by {ENVIRONMENT}. Open it "
            "without one; to encrypt its people, merge it into a new gallery with a key."
        )
    if mark is not None and key is None:
        raise ValueError(f"{path} is encrypted: give its key, by `key` or by {ENVIRONMENT}.")


def check_keys(key, keys, is_server):
    """Refuses a file of keys where none belongs, and its absence where one does.

    Args:
        key: What `read_key` gave.
        keys: Path of the file; None: none was given.
        is_server: Whether the gallery is on a server.

    Raises:
        ValueError: If there is a file without need, or none in need.
    """
    if keys is not None and not (is_server and key):
        raise ValueError(
            "`keys` is the file of the people's keys of an encrypted gallery on a server. A file "
            "holds its own: give `key` alone."
        )
    if key and is_server and keys is None:
        raise ValueError(
            "An encrypted gallery on a server keeps the keys of its people apart from it, so that "
            "a person can be forgotten there and in its backups: give `keys`, the path of a file."
        )
