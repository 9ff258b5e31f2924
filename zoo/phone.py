"""Reads walks that a phone in the trouser pocket recorded, and measures models on groups of people.

Models are also measured on walks with simulated rotations of the phone.
"""

import functools

import numpy as np
from scipy.spatial.transform import Rotation

from keras_dml import evaluation, inference
from keras_dml.layers import GravityFrame
from keras_dml.training import People, folds, measure, trials
from keras_dml.training.golden import synthetic_recordings
from keras_dml.training.pooled import BOOTSTRAP
from zoo import people

RATE_HZ = 25
WINDOW, STRIDE = 250, 125  # 10 s; 5 s from one training window to the next
GRAVITY = 9.81  # m/s2
EARLIER, LATER = 1, 2
GROUPS, GROUPS_SEED = 6, 7
TURN_SEED = 0
TEMPOS = (0.85, 0.92, 1.0, 1.08, 1.16)
LAG = 3  # steps by which the vertical is compared with the horizontal: 0.12 s
ENROLLED = (1, 3)  # walks


def walks():
    """Reads all walks at an even rate. The walks of a person are numbered in the order of time.

    The phones recorded at an uneven rate of about 25 Hz. The data set builder interpolates linearly
    at 50 Hz, and this function keeps every second sample. A gap of more than 200 ms divides a walk
    into parts. All parts of a walk have the same number.
    """
    walkers = People([], [], [])
    for records in people.read("gaitauth_walks/uniform50").values():
        walkers += people.collect(records, lambda record: int(record["walk"]))
    return People([signal[::2] for signal in walkers.signals], walkers.subjects, walkers.sessions)


def examples(_):
    """Returns the windows of all walks and the people who recorded them. The argument, the name of
    a split, is ignored, because the people are divided into groups.
    """
    windows = walks().windows(WINDOW)
    return windows.signals, windows.subjects


def blocks(walkers):
    """Divides the walks into two sessions, the first half of each person's walks and the other
    walks.
    """
    subjects, number = np.array(walkers.subjects), np.array(walkers.sessions)
    session = np.full(len(number), EARLIER)
    for subject in set(walkers.subjects):
        numbers = np.unique(number[subjects == subject])
        session[(subjects == subject) & (number >= numbers[len(numbers) // 2])] = LATER
    return People(walkers.signals, walkers.subjects, session.tolist())


def turned(windows, rng):
    """Rotates each window by a uniformly random rotation, which simulates another orientation of
    the phone.

    Args:
        windows: Array or list of windows, shape `(windows, time, 3)`.
        rng: `numpy.random.Generator`.
    """
    rotations = Rotation.random(len(windows), random_state=rng).as_matrix()
    return np.einsum("nij,ntj->nti", rotations, windows).astype(np.float32)


def any_way(walkers):
    """Returns training windows with random orientations. The magnitudes in an input contract are
    computed from these windows.
    """
    windows = walkers.windows(WINDOW, STRIDE).signals
    return list(turned(windows, np.random.default_rng(TURN_SEED)))


def known_recordings():
    """Applies `any_way` to all walks and returns the result."""
    return any_way(walks())


def groups(walkers):
    """Returns the groups into which the cross-validation divides the people."""
    return folds(walkers.subjects, GROUPS, GROUPS_SEED)


class Group:
    """Distances between the windows of all people in a group.

    Args:
        between: Function that computes the distances between two lists of windows, the probes and
            the enrolled windows.
        walkers: Result of `walks`.
        group: Names of the people in the group.
        seed: Seed of the rotations.

    Attributes:
        windows: `keras_dml.training.People` with the windows of the group. The windows belong to
            the two sessions that `blocks` makes.
        rank: Rank of each window's walk among the walks of the same person, from 0.
    """

    def __init__(self, between, walkers, group, seed=TURN_SEED):
        tested = walkers.select(group)
        numbered, self.windows = tested.windows(WINDOW), blocks(tested).windows(WINDOW)
        self.rank = _ranks(numbered.subjects, numbered.sessions)
        rest = walkers.without(group).windows(WINDOW)
        self._unit = measure.distance_unit(lambda signals: between(signals, signals), rest)
        self._between, self._seed = between, seed

    @functools.cached_property
    def _as_recorded(self):
        signals = self.windows.signals
        return self._between(signals, signals) / self._unit

    @functools.cached_property
    def _turned(self):
        signals = self.windows.signals
        probes = list(turned(signals, np.random.default_rng(self._seed)))
        return self._between(probes, signals) / self._unit

    def distances(self, turn):
        """Computes the distances between all windows.

        The distances are divided by the median distance between windows of the people outside of
        the group.

        Args:
            turn: Whether each probe is rotated at random.
        """
        return self._turned if turn else self._as_recorded

    def measured(self):
        """Measures the group without rotating any walk."""
        return measure.measure_people(self.distances(False), self.windows)

    def trials(self, turn, walks=None):
        """Compares each window of a later walk with the windows from earlier walks of each person
        in the group.

        Args:
            turn: Whether each probe is rotated at random.
            walks: Number of walks to enroll, beginning with the first walk. Default: all earlier
                walks.
        """
        sessions = np.array(self.windows.sessions)
        used = (sessions == LATER) | (self.rank < (np.inf if walks is None else walks))
        subjects = np.array(self.windows.subjects)[used]
        distances = self.distances(turn)[np.ix_(used, used)]
        return trials.latest_against_earlier(distances, subjects, sessions[used])

    def pairs(self, turn):
        """Compares each window of a later walk with each single window of an earlier walk."""
        sessions, subjects = np.array(self.windows.sessions), self.windows.subjects
        probes, enrolled = np.flatnonzero(sessions == LATER), np.flatnonzero(sessions == EARLIER)
        first, second = (x.ravel() for x in np.meshgrid(probes, enrolled, indexing="ij"))
        scores = self.distances(turn)[first, second]
        return trials.from_pairs(scores, first, second, subjects)


def measured(methods, walkers):
    """Measures each group with a method that was not fitted to the people in the group.

    Args:
        methods: One function per group that computes the distances between two lists of windows.
        walkers: Result of `walks`.

    Returns:
        List of `Group`.
    """
    return [
        Group(between, walkers, group, TURN_SEED + number)
        for number, (group, between) in enumerate(zip(groups(walkers), methods, strict=True))
    ]


def measurement(found):
    """Returns the `Measurement` of the main result, which joins the trials of all groups. No probe
    is rotated.

    Args:
        found: Measured groups, a list of `Group`.
    """
    return measure.Measurement([], trials.concatenate([group.trials(False) for group in found]))


def rows(found):
    """Computes rows for the entry `figures` of a card.

    The rows contain figures with and without rotated probes, for single pairs and for several
    numbers of enrolled walks, and figures of the papers' protocols.

    Args:
        found: Measured groups, a list of `Group`.
    """
    rows = []
    for turn in (False, True):
        which = "turned" if turn else "as recorded"
        kinds = [("single pairs", trials.concatenate([group.pairs(turn) for group in found]))]
        for walks in (*ENROLLED, None):
            what = "all earlier walks" if walks is None else f"{walks} walk{'s' * (walks > 1)}"
            joined = trials.concatenate([group.trials(turn, walks) for group in found])
            kinds.append((f"{what} enrolled", joined))
        rows += [eer_row(f"{what}, probes {which}", claims) for what, claims in kinds]
    return rows + measure.combine_folds([group.measured() for group in found]).figures


def scores(found, turn=False):
    """Returns the scores of the trials that `measurement` uses. The probes are rotated if `turn` is
    true.
    """
    return trials.concatenate([group.trials(turn) for group in found]).scores


def caption(walkers):
    """Returns a caption for error curves whose trials are from all groups."""
    return (
        f"The {len(set(walkers.subjects))} people are divided into groups. Each group is tested "
        "with a model that was not trained on its people. Each window of 10 s in the later half of "
        "a person's walks is compared with each person's earlier windows."
    )


def publish(run, model, walkers, measured, folds):
    """Publishes a model that was trained on all people, together with the figures and models of the
    groups.

    Args:
        run: `zoo.recipe.Run`.
        model: The model.
        walkers: `walks`.
        measured: `Measurement` of the groups.
        folds: Models of the groups.
    """
    golden = synthetic_recordings(3, (WINDOW, 375, 100), (3.0, 1.0, 4.0))
    run.publish(
        model,
        [signal + [0, 0, GRAVITY] for signal in golden],
        measured,
        data={"train_subjects": sorted(set(walkers.subjects))},
        recordings=any_way(walkers),
        folds=folds,
    )


def of_model(model):
    """Returns a function that computes a model's distances between probes and enrolled windows."""

    def between(probes, enrolled):
        z = inference.embed(model, enrolled, progress=False)
        if probes is enrolled:
            return inference.distance(model, z, z)
        return inference.distance(model, inference.embed(model, probes, progress=False), z)

    return between


def front(horizontal):
    """Returns a list with a layer `GravityFrame`, which is set up for the sampling rate of the
    walks.
    """
    return [GravityFrame(horizontal, lag=LAG, name="gravity_frame")]


def eer_row(protocol, claims):
    """Computes the pooled EER with its interval over people, as a row for the entry `figures` of a
    card.
    """
    result = evaluation.verification(
        claims.scores, claims.genuine, people=claims.people, bootstrap=BOOTSTRAP
    )
    low, high = result.intervals["eer"]
    return {
        "protocol": protocol,
        "n": 1,
        "metric": "eer",
        "value": float(result.eer),
        "stderr": float(high - low) / (2 * 1.96),
        "ci95": [float(low), float(high)],
        "trials": len(claims.scores),
        "people": len(set(claims.probes.tolist())),
    }


def _ranks(subjects, numbers):
    """Returns for each walk the rank of its number among the walks of the same person. Ranks start
    at 0.
    """
    subjects, numbers = np.array(subjects), np.array(numbers)
    rank = np.empty(len(numbers), int)
    for subject in set(subjects.tolist()):
        is_subject = subjects == subject
        rank[is_subject] = np.unique(numbers[is_subject], return_inverse=True)[1]
    return rank
