"""Checks the tokens and the permissions of clients, and sets pauses after wrong tokens."""

import collections
import dataclasses
import hashlib
import hmac
import pathlib
import time
from collections.abc import Iterable

from keras_dml._typing import Path
from keras_dml.gallery.permissions import refuse_if_shared

SHORTEST_TOKEN = 16  # characters
FREE = 5  # largest number of wrong tokens from an address before pauses begin
LONGEST_PAUSE = 60  # seconds; the first pause is one second, and each later one is twice as long
MOST_ADDRESSES = 10_000  # largest number of addresses for which wrong tokens are counted


@dataclasses.dataclass(frozen=True)
class Client:
    """Sender of a request.

    Attributes:
        name: Id of the client's token, or the client's address if the server has no tokens. The
            gallery counts rejected claims per client name.
        may_change: True if the client may use all routes, False if the client may only verify.
    """

    name: str
    may_change: bool


class Tokens:
    """Set of valid tokens. A client must send a token from the set.

    Args:
        full: Tokens that allow everything.
        verify: Tokens that allow verification only.
    """

    def __init__(self, full: Iterable[bytes] = (), verify: Iterable[bytes] = ()):
        self._clients = {token: Client(_id(token), False) for token in verify}
        self._clients |= {token: Client(_id(token), True) for token in full}

    def __bool__(self) -> bool:
        return bool(self._clients)

    def client(self, header: str) -> Client | None:
        """Returns the client for an `Authorization` header, or None if the token is wrong.

        The method compares the header with all tokens in constant time.
        """
        scheme, _, token = header.partition(" ")
        token, match = token.strip().encode("latin-1"), None
        for right, client in self._clients.items():
            if hmac.compare_digest(token, right):
                match = client
        return match if scheme.lower() == "bearer" else None


class Pauses:
    """Pauses for addresses that have sent wrong tokens. Each pause is twice as long as the pause
    before, up to a minute.

    A request with a correct token never waits. If requests with correct tokens also had to wait, a
    client with wrong tokens would lock out all other clients behind the same proxy, because these
    clients share one address. A random token of 16 characters cannot be guessed.
    """

    def __init__(self):
        self._wrong = collections.OrderedDict()  # (count, end of the pause) by address

    def after_wrong(self, address: str) -> float:
        """Counts a wrong token, unless it arrives during a pause.

        Returns:
            Number of seconds for which the address must wait, or 0.
        """
        now = time.monotonic()
        count, end = self._wrong.pop(address, (0, 0.0))
        if now - end > 2 * LONGEST_PAUSE:
            count = 0
        if now >= end:
            count += 1
            pause = 0 if count <= FREE else min(2.0 ** min(count - FREE - 1, 10), LONGEST_PAUSE)
            end = now + pause
        self._wrong[address] = count, end
        if len(self._wrong) > MOST_ADDRESSES:
            self._wrong.popitem(last=False)
        return end - now


def read_tokens(path: Path) -> list[bytes]:
    """Reads tokens from a file, one per line.

    Raises:
        PermissionError: If other users may read or change the file.
        ValueError: If a line is not a token, or if the file is empty. The error message does not
            contain the invalid line.
        OSError: If the file cannot be read.
    """
    with pathlib.Path(path).open("rb") as file:
        refuse_if_shared(file.fileno(), str(path))
        lines = [line.strip() for line in file.read().splitlines()]
    tokens = [line for line in lines if line]
    if not tokens or not all(map(_is_token, tokens)):
        raise ValueError(
            f"{path} must hold tokens of at least {SHORTEST_TOKEN} letters and digits, one token "
            f"per line. Make a token: (umask 077; openssl rand -hex 32 > {path})"
        )
    return tokens


def _is_token(line):
    return len(line) >= SHORTEST_TOKEN and all(33 <= byte <= 126 for byte in line)


def _id(token):
    """Returns an id for a token. Nobody can compute the token from the id."""
    return f"token-{hashlib.sha256(token).hexdigest()[:12]}"
