"""Attaches a Python object to a tensor until the tensor is deleted."""

import weakref

_MARKS = {}  # keyed by tensor id, because JAX tensors cannot have attributes
_ATTRIBUTE = "_keras_dml_mark"


def put(tensor, mark):
    """Attaches an object to a tensor, which may be eager or part of a graph."""
    try:
        setattr(tensor, _ATTRIBUTE, mark)
    except AttributeError:
        if id(tensor) not in _MARKS:
            weakref.finalize(tensor, _MARKS.pop, id(tensor), None)
        _MARKS[id(tensor)] = mark


def read(tensor):
    """Returns the object that `put` attached to a tensor, or None."""
    return getattr(tensor, _ATTRIBUTE, _MARKS.get(id(tensor)))
