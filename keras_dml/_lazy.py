"""Names of a package that load on first use (PEP 562), so that importing it stays cheap."""

import importlib
import sys


def attach(package, homes, submodules=()):
    """The functions `__getattr__` and `__dir__` of a package.

    Args:
        package: Name of the package, its `__name__`.
        homes: Dict from a public name to the submodule that defines it.
        submodules: Names of submodules that are attributes of the package.

    Returns:
        `(__getattr__, __dir__)`. The first raises AttributeError for another name and lists those
        there are.
    """

    def get(name):
        if name in homes:
            value = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
            vars(sys.modules[package])[name] = value
            return value
        if name in submodules:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(
            f"module `{package}` has no attribute `{name}`. It offers {', '.join(names())}."
        )

    def names():
        return sorted(name for name in (*homes, *submodules) if not name.startswith("_"))

    return get, names
