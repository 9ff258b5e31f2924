"""Replaces people's names on a card by numbers. Also stores digests of the names, so that programs
can test whether a name is on the card.
"""

import hashlib
import unicodedata
from collections.abc import Iterable
from typing import Any

COST = 2**12  # cost of scrypt, about 10 ms per name, which slows down tests of lists of names
BYTES = 16


def numbered(names: Iterable[str]) -> dict[str, Any]:
    """Returns entries for the part `data` of a card. The entries do not reveal people's names.

    Args:
        names: Names of the people.

    Returns:
        Dict with `digests` and `train_subjects`. The order of `names` does not change the numbers
        in `train_subjects`.
    """
    # The salt depends only on the names, so a repeated training writes the same card.
    salt = hashlib.sha256("\0".join(sorted(map(_composed, names))).encode()).digest()[:BYTES]
    digests = sorted({_digest(name, salt) for name in names})
    numbers = [str(i) for i in range(1, len(digests) + 1)]
    return {"train_subjects": numbers, "digests": {"salt": salt.hex(), "people": digests}}


class TrainedOn:
    """Set of the people in the training data of a model. `name in TrainedOn(data)` tests whether a
    person is in the set.

    Args:
        data: Value of the entry `data` of a card.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        digests = data.get("digests")
        self._salt = None if digests is None else bytes.fromhex(digests["salt"])
        people = data.get("train_subjects", ()) if digests is None else digests["people"]
        self._people = set(people) if digests else {*map(_composed, people)}

    def __contains__(self, name: str) -> bool:
        if not self._people:
            return False
        return (
            _composed(name) if self._salt is None else _digest(name, self._salt)
        ) in self._people


def _composed(name):
    return unicodedata.normalize("NFC", name)


def _digest(name, salt):
    text = _composed(str(name)).encode()
    return hashlib.scrypt(text, salt=salt, n=COST, r=8, p=1, dklen=BYTES).hex()
