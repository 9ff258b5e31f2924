"""A claim that is listened to until it is decided."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from keras_dml import inputs
from keras_dml._arrays import real
from keras_dml.gallery._closeness import Scale, scale_of
from keras_dml.gallery._results import measured_in_words

ANSWERS = {True: "accepted", False: "rejected", None: "not yet"}


@dataclasses.dataclass(frozen=True)
class Heard:
    """What is known of a claim after so many steps.

    Attributes:
        accepted: Whether it is accepted; None: not decided yet.
        person: The person claimed.
        score: Least distance of a window heard to the recordings enrolled; None before the first
            window is full.
        threshold: Largest score that is accepted; None before the first window is full.
        steps: Steps of these windows.
        seconds: Their time, where the model knows its rate; else None.
        denied: Whether a window is nearest to one that was marked as not this person's.
        scale: As in `keras_dml.gallery.Decision`.
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
    def answer(self):
        """`"accepted"`, `"rejected"` or `"not yet"`."""
        return ANSWERS[self.accepted]

    @property
    def closeness(self):
        """As in `keras_dml.gallery.Decision`; None before the first window is full."""
        is_known = self.score is not None and self.scale is not None
        return self.scale.closeness(self.score) if is_known else None

    def in_words(self, scores=True):
        """Returns the answer in words.

        Args:
            scores: As in `Decision.in_words`.
        """
        said = f"{self.person} {self.answer} after {self.steps:,} steps"
        if self.seconds is not None:
            said += f" ({self.seconds:.3g} s)"
        if not scores:
            return said
        if self.score is not None:
            said += f": {measured_in_words(self.score, self.scale)}"
            if math.isfinite(self.threshold):
                said += f", threshold {measured_in_words(self.threshold, self.scale)}"
        return said + (", nearest to a window marked as another person's" if self.denied else "")

    def __str__(self):
        return self.in_words()


class Listening:
    """A claim that is listened to until it is decided; `Gallery.listen` gives it.

    The claim is accepted as soon as one window is near enough to the recordings enrolled, so a
    window that is heard again changes nothing. See `Gallery.calibrate_listening` for the recordings
    for which the false match rate holds.

    It keeps less than a window of the recording, and the sum and the least of the scores. Chunks
    may be of any size: the windows lie side by side from the first step, however it comes. Once it
    is decided it stays so, and what comes later is not looked at.

    Args:
        gallery: The `Gallery`.
        person: The person claimed.
        boundary: `Boundary`.
        accept: Function that is called when the claim is accepted.

    Attributes:
        heard: `Heard`, the last answer.

    Example:
        >>> import tempfile
        >>> rng = np.random.default_rng(0)
        >>> def utterance(offset, steps=40):
        ...     return rng.normal(offset, 0.1, (steps, 12))
        >>> folder = tempfile.TemporaryDirectory()
        >>> gallery = keras_dml.Gallery(f"{folder.name}/family.db", model="vowels_qp_wl")
        >>> gallery.enroll("alice", [utterance(0.0), utterance(0.0)]).enrolled
        2
        >>> volunteers = [name for name in range(1, 21) for _ in range(2)]
        >>> found = gallery.calibrate_listening(
        ...     [utterance(name / 5) for name in volunteers], volunteers, far=0.1, window=20
        ... )
        >>> listening = gallery.listen("alice")
        >>> listening.add(utterance(0.0, 15)).answer, listening.add(utterance(0.0, 15)).answer
        ('not yet', 'accepted')
        >>> gallery.close(), folder.cleanup()
        (None, None)
    """

    def __init__(self, gallery, person, boundary, accept):
        self._accept = accept
        self._gallery, self._person, self._boundary = gallery, person, boundary
        self._taken = signals_of(gallery.model)
        self._rest = np.empty((0, self._taken.shape[1]), np.float32)
        self._sum, self._least, self._windows = 0.0, math.inf, 0
        self._scale = scale_of(gallery._model, gallery._enrolled(person)[1])
        self.heard = self._said(None)

    @property
    def boundary(self):
        """`Boundary` by which it is decided."""
        return self._boundary

    def add(self, chunk) -> Heard:
        """Listens to the next steps.

        Args:
            chunk: Array of shape `(time, channels)`, of any number of steps, none included.

        Returns:
            `Heard`.

        Raises:
            TypeError: If the chunk does not hold real numbers.
            ValueError: If it has another shape, is not finite, or the model does not take a window;
                it is left out then, and others may follow.
            KeyError: If the person was removed meanwhile.
        """
        chunk = self._checked(chunk)
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
                self.heard = self._decided(denied)
                if self.heard.accepted is not None:
                    break
            if self.heard.accepted:
                self._accept()
        self._rest = steps[full * window :].copy()
        return self.heard

    def _scores(self, windows):
        """Score of each window, and whether it is nearest to one marked as another's."""
        embedded = self._gallery._model.embed(list(windows))
        _, known = self._gallery._enrolled(self._person)
        found = [known.scores(self._gallery._model, z[None], [self._person]) for z in embedded]
        return [(float(score[0]), bool(denied[0])) for score, denied in found]

    def _decided(self, denied):
        mean = self._sum / self._windows
        accepted = False
        if not denied:
            accepted = self._boundary.decide(self._least, mean, self._windows)
        return self._said(accepted, denied)

    def _said(self, accepted, denied=False):
        steps = self._windows * self._boundary.window
        contract = self._taken.contract
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
        channels = self._taken.shape[1]
        if chunk.ndim != 2 or chunk.shape[1] != channels:
            raise ValueError(
                f"`chunk` must have shape (time, channels), with {channels} channels. Received "
                f"shape {chunk.shape}."
            )
        if not np.isfinite(chunk).all():
            raise ValueError(
                "`chunk` holds NaN or infinity. Interpolate such steps, or leave the chunk out."
            )
        return chunk


def signals_of(model):
    """What a model takes, if that is recordings, which can be listened to.

    Raises:
        ValueError: If it takes something else.
    """
    taken = inputs.from_model(model)
    if not isinstance(taken, inputs.Signals):
        raise ValueError(
            f"Only recordings (time, channels) can be listened to while they grow. The model takes "
            f"{type(taken).__name__.lower()} of shape {taken.axes}."
        )
    return taken
