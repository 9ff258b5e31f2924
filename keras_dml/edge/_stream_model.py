"""Runs a model in a .tflite file that receives a recording in blocks."""

from typing import Any

import numpy as np

from keras_dml import _messages
from keras_dml._arrays import real
from keras_dml._typing import ArrayLike
from keras_dml.edge._model import Model, _sizes


class StreamModel(Model):
    """Model in a .tflite file that `keras_dml.export.stream` wrote. `keras_dml.edge.load_stream`
    returns it.

    A state stores what the model needs to know about the blocks so far. `new_state` returns the
    state at the start of a recording, `step` adds a block, and `read` computes the embedding.
    `embed` streams whole recordings, each from its start.

    Args:
        blob: Bytes of a .tflite file that `keras_dml.export.stream` wrote.
        name: Path of the file.

    Attributes:
        block: Number of steps of a block.
        window: Number of steps that an embedding describes.
        restarts: Whether an embedding describes all steps since `new_state`, so that each window
            must begin with a new state. If False, an embedding describes the last `window` steps.

    Raises:
        ValueError: If the file is damaged, or was not written by `keras_dml.export.stream`.
    """

    _signature = "step"

    def __init__(self, blob: bytes, name: str):
        super().__init__(blob, name)
        self.block: int
        self.window: int
        self.restarts: bool
        self.window, self.restarts = self._window
        _, self.block, self._channels = _sizes(self._runners["step"], "signal")
        (self._size,) = _sizes(self._runners["step"], "state")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._blob, self.name)

    def new_state(self) -> np.ndarray:
        """Returns the state at the start of a recording, a float32 vector of zeros."""
        return np.zeros(self._size, np.float32)

    def step(self, block: ArrayLike, state: np.ndarray) -> np.ndarray:
        """Adds the next steps of a recording to a state.

        Args:
            block: Array of shape `(block, channels)` in the units of the model's contract.
            state: Result of `new_state` or of an earlier call of `step`.

        Returns:
            The next state. The argument `state` does not change.

        Raises:
            TypeError: If the block does not hold real numbers.
            ValueError: If the block or the state has another shape.
        """
        block = real("`block`", block, np.float32)
        _check_shape("block", block, (self.block, self._channels))
        state = real("`state`", state, np.float32)
        _check_shape("state", state, (self._size,))
        return self._call("step", signal=block[None], state=state)["state"]

    def read(self, state: np.ndarray) -> np.ndarray:
        """Computes the embedding of the recording so far.

        Args:
            state: Result of `step`.

        Returns:
            Embedding, float32, shape `embedding_shape`. The embedding is NaN if the recording so
            far is too short, or if a block on which the embedding depends holds NaN or infinity.

        Raises:
            TypeError: If the state does not hold real numbers.
            ValueError: If the state has another shape.
        """
        state = real("`state`", state, np.float32)
        _check_shape("state", state, (self._size,))
        return self._call("read", state=state)["embedding"][0]

    def _run(self, signature, arrays):
        for i, array in enumerate(arrays):
            if len(array) % self.block:
                raise ValueError(
                    f"Recording {i} has {len(array)} steps, but the file takes multiples of "
                    f"{self.block} steps. Cut off the last {len(array) % self.block} steps."
                )
        return np.stack([self._streamed(array) for array in arrays])

    def _streamed(self, recording):
        state = self.new_state()
        for block in recording.reshape(-1, self.block, self._channels):
            state = self.step(block, state)
        return self.read(state)


def _check_shape(name, array, shape):
    if array.shape != shape:
        raise ValueError(
            _messages.Message(
                "{argument} has shape {shape}, but the file takes the shape {expected}.",
                argument=_messages.name(name),
                shape=array.shape,
                expected=shape,
            )
        )
