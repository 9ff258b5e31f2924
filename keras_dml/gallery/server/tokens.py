"""Tokens of clients: who may do what, and the pause after wrong ones."""

import collections
import dataclasses
import hashlib
import hmac
import pathlib
import time

from keras_dml.gallery.permissions import refuse_if_shared

SHORTEST_TOKEN = 16
FREE = 5  # wrong tokens of an address before the first pause
LONGEST_PAUSE = 60  # seconds; the first pause is one second, and each later one is twice as long
MOST_ADDRESSES = 10_000  # whose wrong tokens are counted


@dataclasses.dataclass(frozen=True)
class Client:
    """Somebody who asks.

    Attributes:
        name: What tries are counted by: an id of the token, or the address.
        may_change: Whether the client may do everything. Otherwise it may only verify.
    """

    name: str
    may_change: bool


class Tokens:
    """Tokens that clients must give.

    Args:
        full: Tokens for everything, as bytes.
        verify: Tokens for verification only.
    """

    def __init__(self, full=(), verify=()):
        self._clients = {token: Client(_id(token), False) for token in verify}
        self._clients |= {token: Client(_id(token), True) for token in full}

    def __bool__(self):
        return bool(self._clients)

    def client(self, header):
        """Returns the `Client` of an `Authorization` header; None if its token is wrong.

        The header is compared with all tokens in constant time.
        """
        scheme, _, token = header.partition(" ")
        token, match = token.strip().encode("latin-1"), None
        for right, client in self._clients.items():
            if hmac.compare_digest(token, right):
                match = client
        return match if scheme.lower() == "bearer" else None


class Pauses:
    """Pauses after wrong tokens of an address, which double up to a minute.

    A right token is never made to wait: behind a proxy all clients have one address, and whoever
    sends wrong tokens would lock out the others. A token of 16 characters cannot be guessed.
    """

    def __init__(self):
        self._wrong = collections.OrderedDict()  # (count, end of the pause) by address

    def after_wrong(self, address):
        """Counts a wrong token, unless it came during a pause.

        Returns:
            Seconds that the address has to wait; 0 if it need not.
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


def read_tokens(path):
    """Reads the tokens of a file, one per line.

    Returns:
        Tokens as bytes.

    Raises:
        PermissionError: If other users may read or change the file.
        ValueError: If a line is not a token, or the file is empty. The message does not repeat it.
        OSError: If the file cannot be read.
    """
    with pathlib.Path(path).open("rb") as file:
        refuse_if_shared(file.fileno(), str(path))
        lines = [line.strip() for line in file.read().splitlines()]
    tokens = [line for line in lines if line]
    if not tokens or not all(map(_is_token, tokens)):
        raise ValueError(
            f"{path} must hold a token of at least {SHORTEST_TOKEN} letters and digits, or one "
            f"per line. Make one: (umask 077; openssl rand -hex 32 > {path})"
        )
    return tokens


def _is_token(line):
    return len(line) >= SHORTEST_TOKEN and all(33 <= byte <= 126 for byte in line)


def _id(token):
    """Id of a token, which does not tell the token."""
    return f"token-{hashlib.sha256(token).hexdigest()[:12]}"
