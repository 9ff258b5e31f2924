"""Checkpoints of a robustness experiment: what is finished is not run again."""

from __future__ import annotations

import hashlib
import json
import pathlib

import numpy as np

from keras_dml._files import staged

MASKS = ("robust", "pending")


class Checkpoint:
    """How far each attack has come, in a file that is complete or absent.

    Args:
        path: Path of the file, `.npz`; None stores nothing.
        identity: Digest of the experiment, see `identity`.

    Raises:
        ValueError: If the file is damaged, or belongs to another experiment.
    """

    def __init__(self, path, identity):
        self.path = None if path is None else pathlib.Path(path)
        self.arrays = {"identity": np.array(identity)}
        if self.path is None or not self.path.exists():
            return
        try:
            with np.load(self.path, allow_pickle=False) as found:
                self.arrays = {name: found[name] for name in found.files}
            same = str(self.arrays["identity"]) == identity
        except (KeyError, OSError, ValueError) as error:
            raise ValueError(f"{self.path} is damaged ({error}). Delete it.") from error
        if not same:
            raise ValueError(
                f"{self.path} is of another model, other examples, another head or seed. "
                "Delete it, or give another `out`."
            )

    def load(self, attack, correct):
        """The stored state of an attack, or its initial one.

        Args:
            attack: One of `keras_dml.evaluation.attacks`.
            correct: Booleans of shape `(count,)`, True where the clean example is classified
                correctly.

        Returns:
            A dict of booleans of shape `(count,)`, `robust` and `pending`, the examples that the
            present restart has yet to attack; and of the counts `restarts`, `calls`, `seconds` and
            `not_finite`.
        """
        name = repr(attack)
        if name not in self.arrays:
            counts = {"restarts": 0, "calls": 0, "seconds": 0.0, "not_finite": 0}
            return {**{mask: correct.copy() for mask in MASKS}, **counts}
        counts = json.loads(str(self.arrays[f"counts of {name}"]))
        return {**dict(zip(MASKS, self.arrays[name].copy(), strict=True)), **counts}

    def save(self, attack, state):
        """Stores the state of an attack, see `load`."""
        if self.path is None:
            return
        name = repr(attack)
        counts = {key: value for key, value in state.items() if key not in MASKS}
        self.arrays[name] = np.stack([state[mask] for mask in MASKS])
        self.arrays[f"counts of {name}"] = np.array(json.dumps(counts))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with staged(self.path) as candidate, candidate.open("wb") as file:
            np.savez_compressed(file, **self.arrays)


def identity(model, x, y, head, seed):
    """Digest of the model's weights, the examples, the attacked head and the seed."""
    digest = hashlib.sha256(f"{head} {seed} {x.shape}".encode())
    for array in (x, y, *model.get_weights()):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
