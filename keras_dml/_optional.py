"""Explains how to install an optional package that is missing."""

import contextlib
from collections.abc import Iterator

PACKAGES = {  # name of a module: name of its package in messages, and extra that installs it
    "jinja2": ("Jinja2", "keras"),
    "matplotlib": ("Matplotlib", "keras"),
    "scipy": ("SciPy", "edge"),
    "sklearn": ("scikit-learn", "keras"),
}


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Replaces the error for a missing package of `PACKAGES` by an error that contains the command
    to install it. Use this context manager around the import of the package.

    Raises:
        ImportError: If a package of `PACKAGES` is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in PACKAGES:
            raise
        package, extra = PACKAGES[error.name]
        raise ImportError(
            f'{package} is not installed. Install it: pip install "keras-dml[{extra}]".',
            name=error.name,
        ) from error
