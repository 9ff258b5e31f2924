"""Checks that the optional packages of a command are installed."""

import importlib.util

PRINTED = {"jax": "JAX", "tensorflow": "TensorFlow"}


def require_keras(subject, *, on_jax=False):
    """Checks that Keras and TensorFlow are installed. The function does not import them.

    Args:
        subject: Subject of the error message, such as `"An export"`.
        on_jax: If True, JAX is enough.

    Raises:
        ImportError: If a package is missing. The message contains the command that installs the
            packages.
    """
    backends = ("tensorflow", "jax") if on_jax else ("tensorflow",)
    is_there = {name: importlib.util.find_spec(name) is not None for name in ("keras", *backends)}
    if is_there["keras"] and any(is_there[name] for name in backends):
        return
    or_jax = ' or "keras-dml[jax]"' if on_jax else ""
    raise ImportError(
        f"{subject} needs Keras and {' or '.join(map(PRINTED.get, backends))}: "
        f'pip install "keras-dml[cpu]"{or_jax}.'
    )


def require_data(subject):
    """Checks that the packages of the extra `data` are installed.

    Args:
        subject: Subject of the error message, such as `"The list of data sets"`.

    Raises:
        ImportError: If a package is missing. The message contains the command that installs the
            package.
    """
    modules = ("tensorflow_datasets", "array_record")
    if any(importlib.util.find_spec(module) is None for module in modules):
        raise ImportError(f'{subject} needs TensorFlow Datasets: pip install "keras-dml[data]".')


def require_pictures():
    """Checks that Matplotlib, which draws pictures, is installed.

    Raises:
        ImportError: If Matplotlib is missing. The message contains the command that installs it.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise ImportError('Pictures need Matplotlib: pip install "keras-dml[keras]".')


def require_server():
    """Checks that the packages of the extra `serve` are installed.

    Raises:
        ImportError: If a package is missing. The message contains the command that installs the
            package.
    """
    modules = ("fastapi", "prometheus_client", "python_multipart", "uvicorn")
    if any(importlib.util.find_spec(module) is None for module in modules):
        raise ImportError('The server needs FastAPI and uvicorn: pip install "keras-dml[serve]".')
