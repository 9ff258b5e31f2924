"""Verifies a person while the recording is still being made, see `Gallery.listen`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from keras_dml import inputs
from keras_dml._arrays import real, whole
from keras_dml._messages import Message
from keras_dml._typing import ArrayLike, Recordings
from keras_dml.gallery.results import Scale, measured_in_words

if TYPE_CHECKING:
    from keras_dml.gallery.boundary import Boundary
    from keras_dml.gallery.gallery import Gallery

ANSWERS: dict[bool | None, str] = {True: "accepted", False: "rejected", None: "undecided"}


@dataclasses.dataclass(frozen=True)
class Heard:
    """State of a claim after some windows of the recording.

    Attributes:
        accepted: Whether the claim is accepted. None if the claim is not decided yet.
        person: Name of the claimed person.
        score: Least distance between a window and an enrolled recording of the person. None before
            the first window is complete.
        threshold: Largest score that is accepted. None before the first window is complete.
        steps: Number of time steps in all complete windows.
        seconds: Duration of all complete windows. None if the model does not state its rate.
        denied: Whether an imposter recording is nearer to the last window than the person's
            enrolled recordings are. `reject` stores imposter recordings.
        scale: Scale for `closeness`, as in `keras_dml.gallery.Decision`.
    """

    accepted: bool | None
    person: str
    score: float | None
    threshold: float | None
    steps: int
    seconds: float | None
    denied: bool
    scale: Scale | None = None

    @property
    def answer(self) -> str:
        """The decision: `"accepted"`, `"rejected"` or `"undecided"`."""
        return ANSWERS[self.accepted]

    @property
    def closeness(self) -> float | None:
        """Score from 0 to 100, where 100 is the best match. None before the first window."""
        is_measured = self.score is not None and self.scale is not None
        return self.scale.closeness(self.score) if is_measured else None

    def in_words(self, scores: bool = True) -> str:
        """Returns the state of the claim in words.

        Args:
            scores: Whether to state the score and the threshold.
        """
        words = f"{self.person} {self.answer} after {self.steps:,} steps"
        if self.seconds is not None:
            words += f" ({self.seconds:.3g} s)"
        if not scores:
            return words
        if self.score is not None:
            words += f": {measured_in_words(self.score, self.scale)}"
            if math.isfinite(self.threshold):
                words += f", threshold {measured_in_words(self.threshold, self.scale)}"
        return words + (", nearest to a stored imposter recording" if self.denied else "")

    def __str__(self) -> str:
        return self.in_words()


class Listening:
    """Claim that is decided while the recording is still being made. `Gallery.listen` returns this
    object.

    The claim is accepted as soon as one window is near enough to the enrolled recordings.
    Repeating a window therefore does not help an imposter. `Gallery.calibrate_listening` states for
    which recordings the false match rate is guaranteed.

    The object does not store the whole recording. The object stores only the incomplete last
    window, the sum of the scores and the smallest score. The chunks that `add` receives may have
    any length. The object cuts the recording into windows that do not overlap. The windows do not
    depend on where the chunks begin and end. A decision is final. Later chunks are ignored.

    Args:
        gallery: The gallery.
        person: Name of the claimed person.
        boundary: Decision thresholds, see `Gallery.calibrate_listening`.
        accept: Function that is called when the claim is accepted.

    Attributes:
        heard: State of the claim after the last complete window, a `Heard`.

    Example:
        >>> import tempfile
        >>> rng = np.random.default_rng(0)
        >>> scale = [0.5, 0.4, 0.4, 60, 170, 80]
        >>> def walk(pace, steps=400):
        ...     signal = np.sin(pace * np.arange(steps)[:, None] + np.arange(6))
        ...     return scale * (signal + rng.normal(0, 0.02, (steps, 6)))
        >>> folder = tempfile.TemporaryDirectory()
        >>> gallery = keras_dml.Gallery(f"{folder.name}/family.db", model="gait_qp_wl")
        >>> gallery.enroll("alice", [walk(0.21), walk(0.21)]).enrolled
        2
        >>> volunteers = [name for name in range(1, 21) for _ in range(2)]
        >>> boundary = gallery.calibrate_listening(
        ...     [walk(name / 20) for name in volunteers], volunteers, far=0.1, window=200
        ... )
        >>> listening = gallery.listen("alice")
        >>> listening.add(walk(0.21, 150)).answer, listening.add(walk(0.21, 150)).answer
        ('undecided', 'accepted')
        >>> gallery.close(), folder.cleanup()
        (None, None)
    """

    def __init__(
        self, gallery: Gallery, person: str, boundary: Boundary, accept: Callable[[], None]
    ):
        self._accept = accept
        self._gallery, self._person, self._boundary = gallery, person, boundary
        self._inputs = checked_signals(gallery.inputs)
        self._rest = np.empty((0, self._inputs.shape[1]), np.float32)
        self._sum, self._least, self._windows = 0.0, math.inf, 0
        self._scale = gallery._scale(gallery._templates_of(person)[1])
        self.heard = self._state(None)

    @property
    def boundary(self) -> Boundary:
        """The decision thresholds of this claim."""
        return self._boundary

    def add(self, chunk: ArrayLike, start: int | None = None) -> Heard:
        """Adds the next steps of the recording.

        The decision thresholds hold only for windows that do not overlap. Chunks may overlap if
        `start` says where they begin, such as the windows of a `keras_dml.edge.Stream`:
        `listening.add(window.signal, window.start)`. The object then ignores the steps that were
        already added, so that each step is in one window only.

        Args:
            chunk: Array of shape `(time, channels)` with any number of steps, including zero.
            start: Index of the chunk's first step in the recording, at most the number of steps
                that were added so far. Default: the chunk follows the earlier chunks.

        Returns:
            State of the claim after this chunk.

        Raises:
            TypeError: If `chunk` does not contain real numbers, or if `start` is not an integer.
            ValueError: If `chunk` has another shape or is not finite, if the model does not accept
                a window, or if steps are missing between the earlier chunks and `start`. The
                invalid chunk is ignored, and the next chunk may be added.
            KeyError: If the person was removed from the gallery after the claim began.
        """
        chunk = self._checked(chunk)
        if start is not None:
            chunk = chunk[self._known_steps(start) :]
        if self.heard.accepted is not None:
            return self.heard
        window, left = self._boundary.window, self._boundary.windows - self._windows
        steps = np.concatenate([self._rest, chunk[: left * window - len(self._rest)]])
        full = len(steps) // window
        if full:
            windows = steps[: full * window].reshape(full, window, -1)
            for score, denied in self._scores(windows):
                self._sum, self._windows = self._sum + score, self._windows + 1
                self._least = min(self._least, score)
                self.heard: Heard = self._decide(denied)
                if self.heard.accepted is not None:
                    break
            if self.heard.accepted:
                self._accept()
        self._rest = steps[full * window :].copy()
        return self.heard

    def _known_steps(self, start):
        """Returns how many steps at the beginning of a chunk were already added."""
        start = whole("start", start, 0)
        added = self._windows * self._boundary.window + len(self._rest)
        if start > added and self.heard.accepted is None:
            raise ValueError(
                Message(
                    "{start} is {value}, but the recording has {added} steps so far. Add the "
                    "missing steps first, or begin a new claim.",
                    value=start,
                    added=added,
                )
            )
        return max(added - start, 0)

    def _scores(self, windows):
        """Returns `(score, denied)` for each window, see `Templates.scores`."""
        model = self._gallery._model
        embeddings = model.embed(list(windows))
        _, templates = self._gallery._templates_of(self._person)
        scores = [templates.scores(model, z[None], [self._person]) for z in embeddings]
        return [(float(score[0]), bool(denied[0])) for score, denied in scores]

    def _decide(self, denied):
        mean = self._sum / self._windows
        accepted = False
        if not denied:
            accepted = self._boundary.decide(self._least, mean, self._windows)
        return self._state(accepted, denied)

    def _state(self, accepted, denied=False):
        steps = self._windows * self._boundary.window
        contract = self._inputs.contract
        rate = None if contract is None else contract.rate_hz
        return Heard(
            accepted=accepted,
            person=self._person,
            score=self._least if self._windows else None,
            threshold=self._boundary.value if self._windows else None,
            steps=steps,
            seconds=None if rate is None else steps / rate,
            denied=denied,
            scale=self._scale,
        )

    def _checked(self, chunk):
        chunk = real("`chunk`", chunk, np.float32)
        channels = self._inputs.shape[1]
        if chunk.ndim != 2 or chunk.shape[1] != channels:
            raise ValueError(
                Message(
                    "{chunk} has shape {shape}, but its shape must be (time, channels) with "
                    "{count} channels.",
                    shape=chunk.shape,
                    count=channels,
                )
            )
        if not np.isfinite(chunk).all():
            raise ValueError(
                Message(
                    "{chunk} holds NaN or infinity. Interpolate these steps or leave the chunk out."
                )
            )
        return chunk


def checked_signals(
    model_inputs: inputs.Signals | inputs.Matrices | inputs.Images,
) -> inputs.Signals:
    """Returns the inputs of a model, after checking that the model takes recordings.

    Raises:
        ValueError: If the model takes other inputs, such as images.
    """
    if not isinstance(model_inputs, inputs.Signals):
        raise ValueError(
            f"The model takes {type(model_inputs).__name__.lower()} of shape {model_inputs.axes}, "
            "but listening needs a model that takes recordings of shape (time, channels)."
        )
    return model_inputs


def checked_window(
    model_inputs: inputs.Signals | inputs.Matrices | inputs.Images, window: int | None
) -> int:
    """Returns the length of windows, after checking that the model accepts this length.

    Args:
        model_inputs: Inputs of a model that takes recordings.
        window: Number of time steps per window. Default: the input length of the model, if it has a
            fixed input length.

    Raises:
        ValueError: If `window` is None and the model takes recordings of any length, or if the
            model does not take recordings of the length `window`.
    """
    model_inputs = checked_signals(model_inputs)
    if not model_inputs.has_any_length:
        steps = model_inputs.shape[0]
        if window not in (None, steps):
            raise ValueError(
                Message(
                    "{window} is {value!r}, but the model takes windows of {steps} steps.",
                    value=window,
                    steps=steps,
                )
            )
        return steps
    if window is None:
        raise ValueError(
            Message(
                "{window} is missing, but the model takes recordings of any length. Set {window} "
                "to the number of steps after which the first decision may be made."
            )
        )
    window = whole("window", window, minimum=1)
    contract = model_inputs.contract
    if contract is not None and window < contract.min_steps:
        raise ValueError(
            Message(
                "{window} is {value}, but the model takes recordings of {least} or more.",
                value=_in_words(window, contract.rate_hz),
                least=_in_words(contract.min_steps, contract.rate_hz),
            )
        )
    return window


def _in_words(steps, rate_hz):
    return f"{steps} steps" + ("" if rate_hz is None else f" ({steps / rate_hz:.4g} s)")


def common_windows(recordings: Recordings, window: int) -> int:
    """Returns the number of complete windows in the shortest recording.

    Args:
        recordings: Arrays of shape `(time, channels)`.
        window: Number of time steps per window.

    Raises:
        ValueError: If a recording is shorter than a window.
    """
    steps = np.array([len(recording) for recording in recordings])
    if steps.min() < window:
        i = int(steps.argmin())
        raise ValueError(
            Message(
                "Recording {i} has {count} steps, fewer than a window of {length} steps. Leave it "
                "out, or set a shorter {window}.",
                i=i,
                count=steps[i],
                length=window,
            )
        )
    return int(steps.min() // window)
