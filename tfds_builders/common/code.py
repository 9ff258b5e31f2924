"""Digest of the Python code that makes a data set."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import pathlib


@functools.cache  # parsing all modules takes 60 ms, and tests prepare hundreds of builders
def digest(cls: type) -> str:
    """Returns one SHA-256 checksum of a builder's module and all modules of the same package that
    this module imports, directly or indirectly.

    Comments, docstrings and line breaks do not change the checksum.

    Args:
        cls: Class of the builder.
    """
    package = cls.__module__.partition(".")[0]
    trees, waiting = {}, [cls.__module__]
    while waiting:
        name = waiting.pop()
        path = _path_of(name)
        if name in trees or path is None:
            continue
        trees[name] = ast.parse(path.read_text("utf-8"))
        waiting += [each for each in _imported(trees[name]) if each.partition(".")[0] == package]
    trees[cls.__module__] = ast.parse(pathlib.Path(inspect.getfile(cls)).read_text("utf-8"))
    texts = [
        f"{name} {ast.dump(_without_docstrings(tree))}" for name, tree in sorted(trees.items())
    ]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def _path_of(name: str) -> pathlib.Path | None:
    """Returns the file of a module. Returns None for a name that is not a module, and for a module
    without a file.
    """
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return pathlib.Path(spec.origin)


def _imported(tree: ast.AST) -> list[str]:
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list) or not body or not isinstance(body[0], ast.Expr):
            continue
        if isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
            body[0].value.value = ""
    return tree
