"""Lists the methods for each kind of recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from keras_dml.training.own import covariances, sequences, sound
from keras_dml.training.own.task import COVARIANCES, SEQUENCES, SOUND, Task

if TYPE_CHECKING:
    from keras_dml.training.own.methods import Method

_METHODS = {
    SEQUENCES: sequences.methods,
    COVARIANCES: covariances.methods,
    SOUND: sound.methods,
}


def methods(task: Task) -> list[Method]:
    """Returns the methods that are compared for a task. The closed-form methods come first."""
    return _METHODS[task.kind](task)


def untrained(candidates: list[Method]) -> Method:
    """Returns the method for too few people: the last method that does not learn from people's
    identities."""
    return next(method for method in reversed(candidates) if not method.learns)
