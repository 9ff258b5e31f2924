"""The part of a gallery that listens to a claim until it is decided."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np

from keras_dml import inputs
from keras_dml._arrays import whole
from keras_dml.gallery._boundary import Boundary, boundary
from keras_dml.gallery._calibration import (
    check_people,
    not_enrolled,
    usual_count,
    warn_of_fewer,
    warn_of_more,
    warn_of_trained,
    without_copies,
)
from keras_dml.gallery._choice import boundary_of
from keras_dml.gallery._listening import Listening, signals_of


class Listens:
    """What `listen` needs; beside `Decisions`, it needs `_store` and `_model`."""

    @property
    def boundaries(self) -> dict[float, Boundary]:
        """`Boundary` by false match rate, those that `calibrate_listening` has set."""
        return self._store.boundaries()

    def listen(self, person: str, *, far=None, client="") -> Listening:
        """Listens to a claim that is decided as soon as it can be.

        The claim is accepted as soon as one window is near enough. See `calibrate_listening` for
        the recordings for which the false match rate holds.

        Args:
            person: The person claimed.
            far: False match rate of the boundary, one that was set; None: the smallest.
            client: As in `verify`. Listening that ends without a decision counts as a rejected
                claim.

        Returns:
            `Listening`: give its `add` the recording as it comes.

        Raises:
            TooManyTries: If the claim is made during the pause after rejected claims.
            KeyError: If nobody of this name is enrolled.
            ValueError: If no boundary is set, the rate has none, or an earlier version set it.
        """
        boundaries = self.boundaries
        limit = boundary_of(boundaries, far)
        person, _ = self._enrolled(person)
        self._claims.begin(person, client)
        resets = limit.far == min(boundaries)  # a looser boundary would reset the count for others
        accept = partial(self._claims.accept, person, client) if resets else _pass
        return Listening(self, person, limit, accept)

    def calibrate_listening(
        self, recordings, people, far: float = 0.05, *, window=None, sessions=None
    ) -> Boundary:
        """Sets the boundary at which `listen` accepts at most a fraction of false claims, at
        whatever moment it stops, of people never used, on average: see
        `keras_dml.evaluation.promise`.

        A claim is one recording of at most as many windows as those given here. Its windows may be
        repeated, left out or played in any order: the rate holds. It does not hold for the best of
        several recordings, for a recording that is changed until it is accepted, or for a replay or
        forgery of the person's own recordings. Each new recording is one more claim, so limit the
        number of claims.

        Each recording is heard window by window as everybody's in turn: as its own person's,
        enrolled by the other recordings of that person, and as every other one's, enrolled by all
        of theirs. 1 / far people, less two, can promise a rate.

        Args:
            recordings: List of recordings, each as long as a claim may last: the shortest one says
                after how many windows `listen` rejects. As many of each person as you enroll.
            people: Person of each.
            far: False match rate, above 0 and below 1.
            window: Steps of a window, the shortest time to a decision; None: as many as the model
                takes, where it takes one length only.
            sessions: Session of each recording, see `calibrate`.

        Returns:
            `Boundary`, which the gallery keeps, with the time to a decision.

        Raises:
            ValueError: If there is one person only, nobody has two recordings, the people are too
                few to promise the rate, a recording is `unfit` or shorter than a window, or the
                model takes no recordings.
        """
        listed, people = self._named(recordings, people)
        check_people(people)
        warn_of_trained(self._model.trained_on, people)
        window = _window(signals_of(self.model), window)
        listed, people, sessions = without_copies(listed, people, sessions)
        check_people(people)
        found = boundary(*self._trajectories(listed, people, window, sessions), far, window)
        contract = inputs.from_model(self.model).contract
        rate_hz = None if contract is None else contract.rate_hz
        found = dataclasses.replace(found, enrolled=usual_count(people), rate_hz=rate_hz)
        self._store.set_boundary(found)
        warn_of_more(self.people(), [found])
        warn_of_fewer(self.people(), [found])
        return found

    def _trajectories(self, recordings, people, window, sessions=None):
        """Scores of the windows of everybody's claims, shape `(claims, windows)`, and the people of
        both sides."""
        count = _windows_of_all(recordings, window)
        z, hidden = self._model.embed(recordings), not_enrolled(people, sessions)
        names = np.unique(people)
        scores, probes, claims = [], [], []
        for i, recording in enumerate(recordings):
            windows = [recording[k * window : (k + 1) * window] for k in range(count)]
            distances = self._model.distances(self._model.embed(windows), z)
            distances[:, hidden[i]] = np.inf
            for name in names:
                nearest = distances[:, people == name].min(axis=1)
                if np.isfinite(nearest).all():  # a person's only recording has nothing to claim by
                    scores.append(nearest)
                    probes.append(people[i])
                    claims.append(name)
        return np.stack(scores).astype(np.float64), np.array(probes), np.array(claims)


def _pass():
    """Leaves the count of rejected claims as it is."""


def _window(taken, window):
    if not taken.has_any_length:
        steps = taken.shape[0]
        if window not in (None, steps):
            raise ValueError(
                f"The model takes windows of {steps} steps. Received window={window!r}."
            )
        return steps
    if window is None:
        raise ValueError(
            "The model takes recordings of any length: give `window`, the steps after which it may "
            "decide for the first time."
        )
    return whole("window", window, minimum=1)


def _windows_of_all(recordings, window):
    """Number of windows of the shortest recording."""
    steps = np.array([len(recording) for recording in recordings])
    if steps.min() < window:
        i = int(steps.argmin())
        raise ValueError(
            f"Recording {i} has {steps[i]} steps, fewer than a window of {window}. Leave it out, "
            "or give a shorter `window`."
        )
    return int(steps.min() // window)
