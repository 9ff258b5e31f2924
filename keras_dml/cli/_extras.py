"""Extras of the package that a command needs."""

import importlib.util


def require(extra, modules, purpose):
    """Checks that the packages of an extra are installed.

    Args:
        extra: Name of the extra, `"data"`.
        modules: Modules that it installs.
        purpose: What they are for, the beginning of the error message.

    Raises:
        ImportError: If one is missing; the message gives the command that installs it.
    """
    if any(importlib.util.find_spec(module) is None for module in modules):
        raise ImportError(f'{purpose}: pip install "keras-dml[{extra}]".')


def require_data(what):
    """Checks that the data sets can be read; see `require`.

    Args:
        what: What is to be read, `"The gait archive"`.
    """
    modules = ("tensorflow_datasets", "array_record")
    require("data", modules, f"{what} is read by TensorFlow Datasets")
