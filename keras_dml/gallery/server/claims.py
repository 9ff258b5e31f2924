"""Stores claims of `listen` between requests until they are decided."""

import secrets
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loads a backend
    from keras_dml.gallery import Listening

MOST = 256  # largest number of undecided claims of all clients
MOST_OF_CLIENT = 16  # largest number of undecided claims per client
IDLE_SECONDS = 120  # time without a request after which a claim is removed


class Claims:
    """Undecided claims of `listen`, stored by id. Each claim belongs to one client.

    Only the thread that calls the gallery uses this object, so the object has no lock.
    """

    def __init__(self):
        self._claims = {}  # (client, time of the last request, listening) by id

    def add(self, client: str, listening: "Listening") -> str:
        """Adds a claim and returns its id.

        Args:
            client: Name of the client.
            listening: State of the claim.

        Raises:
            ValueError: If the client or all clients together have too many undecided claims.
        """
        self._forget_idle()
        count = sum(entry[0] == client for entry in self._claims.values())
        if count >= MOST_OF_CLIENT or len(self._claims) >= MOST:
            raise ValueError(
                f"The client has {count} undecided claims. A client may have at most "
                f"{MOST_OF_CLIENT}, and all clients together at most {MOST}. Finish a claim, or "
                f"wait {IDLE_SECONDS} seconds."
            )
        number = secrets.token_urlsafe(12)
        self._claims[number] = client, time.monotonic(), listening
        return number

    def get(self, client: str, number: str) -> "Listening":
        """Returns the undecided claim with an id.

        Args:
            client: Name of the client.
            number: Id of the claim.

        Raises:
            KeyError: If the client has no undecided claim with this id.
        """
        self._forget_idle()
        owner, _, listening = self._claims.get(number, (None, 0, None))
        if listening is None or owner != client:
            raise KeyError(
                "The claim does not exist. Possible reasons: the claim was already decided, it "
                f"expired because the client sent nothing for {IDLE_SECONDS} seconds, or another "
                "server holds it. Begin a new claim."
            )
        self._claims[number] = owner, time.monotonic(), listening
        return listening

    def end(self, number: str) -> None:
        """Removes a claim."""
        self._claims.pop(number, None)

    def _forget_idle(self):
        oldest = time.monotonic() - IDLE_SECONDS
        for number in [key for key, entry in self._claims.items() if entry[1] < oldest]:
            self.end(number)
