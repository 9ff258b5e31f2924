"""The methods of a kind of recordings."""

from keras_dml.training.own import covariances, sequences, sound
from keras_dml.training.own.task import COVARIANCES, SEQUENCES, SOUND

_METHODS = {
    SEQUENCES: sequences.methods,
    COVARIANCES: covariances.methods,
    SOUND: sound.methods,
}


def methods(task):
    """The methods that are compared, those in closed form first.

    Args:
        task: `keras_dml.training.own.task.Task`.

    Returns:
        List of `keras_dml.training.own.methods.Method`.
    """
    return _METHODS[task.kind](task)


def untrained(found):
    """The method that learns nothing of people, for few of them.

    Args:
        found: `methods`.
    """
    return next(method for method in reversed(found) if not method.learns)
