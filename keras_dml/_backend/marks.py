"""Python objects attached to a tensor, for as long as the tensor lives."""

import weakref

_MARKS = {}  # by the id of tensors that take no attributes: those of JAX
_ATTRIBUTE = "_keras_dml_mark"


def put(tensor, mark):
    """Attaches an object to a tensor, an eager one or one of a graph."""
    try:
        setattr(tensor, _ATTRIBUTE, mark)
    except AttributeError:
        if id(tensor) not in _MARKS:
            weakref.finalize(tensor, _MARKS.pop, id(tensor), None)
        _MARKS[id(tensor)] = mark


def read(tensor):
    """The object attached to a tensor; None without one."""
    return getattr(tensor, _ATTRIBUTE, _MARKS.get(id(tensor)))
