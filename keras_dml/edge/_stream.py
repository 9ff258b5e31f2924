"""Embeds the windows of a recording while the recording is being made."""

import dataclasses
import math

import numpy as np

from keras_dml import _messages, inputs
from keras_dml._arrays import real, whole
from keras_dml._typing import ArrayLike
from keras_dml.edge._model import Model
from keras_dml.edge._stream_model import StreamModel

NOT_FINITE = "its embedding is not finite, because steps before the window hold NaN or infinity"


@dataclasses.dataclass(frozen=True, eq=False)
class StreamWindow:
    """Window of a recording.

    Attributes:
        start: Index of the window's first step in the recording.
        stop: Index of the step after the window.
        signal: Steps of the window, float32, shape `(window, channels)`.
        embedding: Embedding of the window, or None if the window is rejected.
        reason: Reason why the window is rejected, or None.
    """

    start: int
    stop: int
    signal: np.ndarray
    embedding: np.ndarray | None
    reason: str | None


class Stream:
    """Embeddings of the windows of a recording that arrives in chunks of any size.

    A ring buffer stores the last `window` steps, so the memory does not grow with the recording.
    The windows do not depend on where the chunks begin and end. Each window passes the checks and
    the quality gate of the model. A window that fails has no embedding, and the stream continues.

    The embedding is the embedding of the window alone. There is one exception: if the model is a
    `StreamModel` whose attribute `restarts` is False, the embedding also depends on a few steps
    before the window, and needs the thresholds of its file.

    A stream processes one recording. For another recording, make another stream.

    Args:
        model: Result of `keras_dml.edge.load` or `keras_dml.edge.load_stream`. The model must take
            recordings.
        window: Number of steps per window. Default: the window of a `StreamModel`.
        hop: Number of steps from the start of a window to the start of the next window. Default:
            `window`, so that windows do not overlap. Overlapping windows (`hop` below `window`) are
            not independent, see `start` in `keras_dml.gallery.listening.Listening.add`.

    Raises:
        TypeError: If `window` or `hop` is not an integer.
        ValueError: If the model does not take recordings, or does not take recordings of `window`
            steps. For a `StreamModel`, also if `window` or `hop` is not a multiple of its block.
    """

    def __init__(self, model: Model, window: int | None = None, hop: int | None = None):
        if not isinstance(model.inputs, inputs.Signals):
            raise ValueError(
                f"A stream needs a model of recordings (time, channels), but {model.name} takes "
                f"{type(model.inputs).__name__.lower()} of shape {model.inputs.axes}."
            )
        self._model, self._is_streamed = model, isinstance(model, StreamModel)
        if window is None:
            window = _default_window(model)
        self.window: int = whole("window", window, 1)
        self.hop: int = self.window if hop is None else whole("hop", hop, 1)
        self._check_sizes()
        self._ring = np.empty((self.window, model.inputs.shape[1]), np.float32)
        self._steps = 0  # steps of the recording so far
        self._states: dict[int, np.ndarray] = {}  # states of a `StreamModel` by their first step
        if self._is_streamed and not model.restarts:
            self._states[0] = model.new_state()

    @property
    def steps(self) -> int:
        """Number of steps of the recording so far."""
        return self._steps

    def add(self, chunk: ArrayLike) -> list[StreamWindow]:
        """Adds the next steps of the recording.

        Args:
            chunk: Array of shape `(time, channels)` with any number of steps, including zero, in
                the units of the model's contract. Steps that the sensor lost may be NaN.

        Returns:
            The windows that end in this chunk, in the order of time.

        Raises:
            TypeError: If `chunk` does not hold real numbers.
            ValueError: If `chunk` has another shape.
        """
        chunk = real("`chunk`", chunk, np.float32)
        channels = self._ring.shape[1]
        if chunk.ndim != 2 or chunk.shape[1] != channels:
            raise ValueError(
                _messages.Message(
                    "{chunk} has shape {shape}, but its shape must be (time, channels) with "
                    "{count} channels.",
                    shape=chunk.shape,
                    count=channels,
                )
            )
        windows = []
        while len(chunk):
            part, chunk = np.split(chunk, [self._steps_to_event()])
            self._store(part)
            if self._is_streamed and not self._steps % self._model.block:
                self._step()
            if self._until_window() == self.hop and self._steps >= self.window:
                windows.append(self._window())
        return windows

    def _until_window(self):
        """Returns the number of steps until the next window ends."""
        if self._steps < self.window:
            return self.window - self._steps
        return self.hop - (self._steps - self.window) % self.hop

    def _steps_to_event(self):
        """Returns the number of steps until a window or a block ends."""
        steps = self._until_window()
        if self._is_streamed:
            steps = min(steps, self._model.block - self._steps % self._model.block)
        return steps

    def _store(self, part):
        last = part[-self.window :]
        end = self._steps + len(part)
        self._ring[np.arange(end - len(last), end) % self.window] = last
        self._steps = end

    def _last(self, steps):
        return self._ring[np.arange(self._steps - steps, self._steps) % self.window]

    def _step(self):
        """Adds the last block to the states of a `StreamModel`."""
        block = self._last(self._model.block)
        start = self._steps - len(block)
        if self._model.restarts and not start % self.hop:
            self._states[start] = self._model.new_state()
        self._states = {
            first: self._model.step(block, state) for first, state in self._states.items()
        }

    def _window(self):
        start, signal = self._steps - self.window, self._last(self.window)
        reason = self._reason(signal)
        embedding = None
        if self._is_streamed:
            state = self._states.pop(start) if self._model.restarts else self._states[0]
            if reason is None:
                embedding = self._model.read(state)
                if not np.isfinite(embedding).all():
                    embedding, reason = None, NOT_FINITE
        elif reason is None:
            (embedding,) = self._model.embed([signal])
        return StreamWindow(start, self._steps, signal, embedding, reason)

    def _reason(self, signal):
        """Returns why a window is rejected, or None."""
        try:
            return self._model.unfit([signal]).get(0)
        except ValueError as error:
            return str(error).replace("Recording 0", "it", 1)

    def _check_sizes(self):
        contract = self._model.contract
        least = 1 if contract is None else contract.min_steps
        most = math.inf if contract is None or contract.max_steps is None else contract.max_steps
        fixed = self._model.inputs.shape[0]
        least, most = (least, most) if fixed is None else (fixed, fixed)
        most = min(most, self._model._steps or math.inf)
        if not least <= self.window <= most:
            raise ValueError(
                _messages.Message(
                    "{window} is {value}, but the model takes recordings of {allowed} steps.",
                    value=self.window,
                    allowed=f"at least {least}" if most == math.inf else f"{least} to {most}",
                )
            )
        if not self._is_streamed:
            return
        model = self._model
        if not model.restarts and self.window != model.window:
            raise ValueError(
                _messages.Message(
                    "{window} is {value}, but an embedding of {name} describes {expected} steps. "
                    "Leave out {window}.",
                    value=self.window,
                    name=model.name,
                    expected=model.window,
                )
            )
        for name, value in (("window", self.window), ("hop", self.hop)):
            if value % model.block:
                raise ValueError(
                    _messages.Message(
                        "{argument} is {value}, but it must be a multiple of {block}, the number "
                        "of steps of a block of {name}.",
                        argument=_messages.name(name),
                        value=value,
                        block=model.block,
                        name=model.name,
                    )
                )


def _default_window(model):
    if isinstance(model, StreamModel):
        return model.window
    if model.inputs.shape[0] is not None:
        return model.inputs.shape[0]
    raise ValueError(
        _messages.Message(
            "{window} is missing, but the model takes recordings of any length. Set {window} to "
            "the number of steps of the recordings for which the model's error rates were measured."
        )
    )
