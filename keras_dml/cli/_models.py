"""Resolves names and paths of models in commands."""

import pathlib

from keras_dml import zoo
from keras_dml.zoo import lookup


def resolve(name):
    """Returns the name of a zoo model, or the absolute path of a model file or folder.

    A gallery stores the returned name or path, so that later commands find the model from any
    folder.

    Raises:
        ValueError: If `name` is neither the name of a zoo model nor a path. The message suggests
            similar names.
    """
    path = pathlib.Path(name).expanduser()
    if name in zoo.list_models():
        return name
    if path.exists():
        return str(path.resolve())
    if not lookup.is_path(name):
        lookup.find(name)  # raises the ValueError
    return name
