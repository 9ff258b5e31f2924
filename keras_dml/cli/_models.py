"""Models as commands name them."""

import pathlib

from keras_dml import zoo
from keras_dml.zoo import lookup


def named(name):
    """Returns the name of a model of the zoo, or the absolute path of what lies there, which a
    gallery keeps.

    Raises:
        ValueError: If it is neither a name nor a path; the message gives the nearest names.
    """
    path = pathlib.Path(name).expanduser()
    if name in zoo.list_models():
        return name
    if path.exists():
        return str(path.resolve())
    if not lookup.is_path(name):
        lookup.find(name)  # raises
    return name
