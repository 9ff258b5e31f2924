"""Defines types for the annotations of public functions."""

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from numpy.typing import ArrayLike

Tensor: TypeAlias = Any
"""A tensor of Keras's backend, or a value that Keras converts to a tensor."""

Recordings: TypeAlias = Sequence[ArrayLike]
"""Recordings of different lengths, each of shape `(time, channels)`."""

Path: TypeAlias = str | os.PathLike[str]
"""A path of a file or a folder."""

__all__ = ["ArrayLike", "Path", "Recordings", "Tensor"]
