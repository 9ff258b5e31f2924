"""People of a card under numbers, and digests by which their names can be recognized."""

import hashlib
import unicodedata

COST = 2**12  # of scrypt: about 10 ms per name, so that lists of names take long to try
BYTES = 16


def numbered(names) -> dict:
    """Returns the entries of a card's `data` for people whose names it does not list.

    Args:
        names: Names of the people.

    Returns:
        `train_subjects`, numbers in an order that does not follow the names, and `digests`.
    """
    # of the names, so that a training that is repeated writes the same card
    salt = hashlib.sha256("\0".join(sorted(map(_composed, names))).encode()).digest()[:BYTES]
    digests = sorted({_digest(name, salt) for name in names})
    numbers = [str(i) for i in range(1, len(digests) + 1)]
    return {"train_subjects": numbers, "digests": {"salt": salt.hex(), "people": digests}}


class TrainedOn:
    """People whom a model has seen, by a card's `data`: `name in TrainedOn(data)`.

    Args:
        data: `data` of a card.
    """

    def __init__(self, data):
        digests = data.get("digests")
        self._salt = None if digests is None else bytes.fromhex(digests["salt"])
        people = data.get("train_subjects", ()) if digests is None else digests["people"]
        self._people = set(people) if digests else {*map(_composed, people)}

    def __contains__(self, name):
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
