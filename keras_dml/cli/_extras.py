"""Extras of the package that a command needs."""

import importlib.util


def require_data(what):
    """Checks that the packages of the extra `data`, which read data sets, are installed.

    Args:
        what: What is to be read, the beginning of the error message: `"The gait archive"`.

    Raises:
        ImportError: If one is missing; the message gives the command that installs it.
    """
    modules = ("tensorflow_datasets", "array_record")
    if any(importlib.util.find_spec(module) is None for module in modules):
        raise ImportError(f'{what} is read by TensorFlow Datasets: pip install "keras-dml[data]".')


def require_server():
    """Checks that the packages of the extra `serve` are installed.

    Raises:
        ImportError: If one is missing; the message gives the command that installs it.
    """
    modules = ("fastapi", "prometheus_client", "python_multipart", "uvicorn")
    if any(importlib.util.find_spec(module) is None for module in modules):
        raise ImportError('The server needs FastAPI and uvicorn: pip install "keras-dml[serve]".')
