"""Models as commands name them."""

import pathlib

from keras_dml import zoo


def named(name):
    """The name of a model of the zoo, or the absolute path of what lies there, which a gallery
    keeps."""
    path = pathlib.Path(name).expanduser()
    return name if name in zoo.list_models() or not path.exists() else str(path.resolve())
