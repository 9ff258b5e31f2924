"""Claims that are listened to over several requests."""

import secrets
import time

MOST = 256  # claims at once
MOST_OF_CLIENT = 16
IDLE_SECONDS = 120  # after which a claim is forgotten


class Listenings:
    """Claims by id, each of one client. They are used in turns, so nothing is locked."""

    def __init__(self):
        self._claims = {}  # (client, time of the last request, listening) by id

    def add(self, client, listening):
        """Keeps a claim.

        Args:
            client: Name of the client.
            listening: `keras_dml.gallery.Listening`.

        Returns:
            Its id.

        Raises:
            ValueError: If the client, or all of them, have too many.
        """
        self._forget_idle()
        own = sum(entry[0] == client for entry in self._claims.values())
        if own >= MOST_OF_CLIENT or len(self._claims) >= MOST:
            raise ValueError(
                f"A client may have {MOST_OF_CLIENT} claims that are listened to, and all clients "
                f"{MOST}. End one, or wait {IDLE_SECONDS} seconds."
            )
        number = secrets.token_urlsafe(12)
        self._claims[number] = client, time.monotonic(), listening
        return number

    def get(self, client, number):
        """Returns the `Listening` of an id.

        Raises:
            KeyError: If the client has no such claim, or it is decided or forgotten.
        """
        self._forget_idle()
        owner, _, listening = self._claims.get(number, (None, 0, None))
        if listening is None or owner != client:
            raise KeyError(
                "The claim does not exist. It is decided, nothing was sent for "
                f"{IDLE_SECONDS} seconds, or another server has it."
            )
        self._claims[number] = owner, time.monotonic(), listening
        return listening

    def end(self, number):
        """Forgets a claim."""
        self._claims.pop(number, None)

    def _forget_idle(self):
        oldest = time.monotonic() - IDLE_SECONDS
        for number in [key for key, entry in self._claims.items() if entry[1] < oldest]:
            self.end(number)
