"""Reads walks that a watch on the wrist recorded, and measures models on groups of people."""

import itertools

import numpy as np

from keras_dml import evaluation
from keras_dml.training import People, folds, trials
from tfds_builders.parsers import sp_sw_har
from zoo import people, phone

RATE_HZ = 50
GRAVITY = 9.81  # m/s2
WATCH, PHONE = "watch", "phone"
ACCELERATION, ACCELERATION_AND_RATES = 3, 6  # channels of a recording
ENROLLED = 5  # runs of each person
KNOWN, UNSEEN = ("train",), ("validation", "test")  # splits of the published file
GROUPS_SEED = 7
TEMPOS = (0.85, 0.92, 1.0, 1.08, 1.16)
# Signs of the axes that mirror a recording, as if the person wore the watch on the other wrist or
# carried the phone in the other pocket. On the other wrist, the x axis along the forearm points to
# the elbow instead of the hand. A reflection changes the signs of the other angular rates.
MIRROR = np.array([-1, 1, 1, 1, -1, -1], np.float32)
MIRRORED = " mirrored"
CAPTION = (
    "Fifteen people are divided into three groups. Each group is tested with a model that was not "
    "trained on its people. Each single run is compared with five runs of each person in the group."
)
_WALKING = sp_sw_har.ACTIVITIES.index("WALKING")


def walks(splits=KNOWN + UNSEEN, device=WATCH, channels=ACCELERATION):
    """Returns the signals of a device while people walk, with one recording per run.

    The straight parts of a run are joined, and the turns between them are removed. The sessions are
    the numbers of the runs in the order of time.

    Args:
        splits: Splits of the data set.
        device: `WATCH` or `PHONE`.
        channels: Number of channels: `ACCELERATION` for x, y and z of the acceleration, or
            `ACCELERATION_AND_RATES` to add x, y and z of the angular rate.
    """
    collected = People([], [], [])
    for split in splits:
        for record in people.read("sp_sw_har/uniform50", split):
            if record["device"].decode() == device:
                walking = np.asarray(record["activity"]) == _WALKING
                signal = np.asarray(record["sequence"])[walking, :channels]
                collected += People([signal], [record["subject"].decode()], [int(record["run"])])
    return collected


def sexes():
    """Returns the sex of each person."""
    splits = people.read("sp_sw_har/uniform50").values()
    return people.attribute(itertools.chain.from_iterable(splits), "sex")


def examples(split):
    """Returns the walks in a split, and the people who recorded them.

    Args:
        split: `"train"`, or `"test"` for the people who were not used to train the published file.
    """
    walkers = walks(KNOWN if split == "train" else UNSEEN)
    return walkers.signals, walkers.subjects


def variants(walkers):
    """Returns walks at several tempos, and mirror images of these walks. Each variant of a person
    counts as an additional person.

    Args:
        walkers: Result of `walks`.
    """
    mirrored = People(
        [signal * MIRROR[: signal.shape[1]] for signal in walkers.signals],
        [f"{subject}{MIRRORED}" for subject in walkers.subjects],
        walkers.sessions,
    )
    return (walkers + mirrored).at_tempos(TEMPOS)


def groups(known, unseen):
    """Returns three groups of people for the cross-validation.

    The first group contains all people who were not used to train the published file, so the first
    model of the cross-validation is the published file.

    Args:
        known: People in the splits that `KNOWN` names.
        unseen: People in the splits that `UNSEEN` names.
    """
    return [sorted(set(unseen)), *folds(known, 2, GROUPS_SEED)]


def claims(distances, walkers, enrolled=ENROLLED):
    """Returns trials in two directions. Later runs are compared with the first runs of each person,
    and earlier runs are compared with the last runs of each person.

    Args:
        distances: Distances between all runs.
        walkers: Result of `walks`. It must contain the runs of `distances`.
        enrolled: Number of runs to enroll per person, at most `ENROLLED`. The probes do not depend
            on `enrolled`. They are all runs except the first `ENROLLED` runs. In the other
            direction, they are all runs except the last `ENROLLED` runs.
    """
    subjects, runs = np.array(walkers.subjects), np.array(walkers.sessions)
    owned = subjects[:, None] == subjects
    first = (owned & (runs < runs[:, None])).sum(axis=1)
    last = owned.sum(axis=1) - 1 - first
    parts = []
    for rank in (first, last):
        probes, gallery = rank >= ENROLLED, rank < enrolled
        parts.append(
            trials.against_gallery(
                distances[np.ix_(probes, gallery)], subjects[probes], subjects[gallery]
            )
        )
    return trials.concatenate(parts)


class Cross:
    """Distances between the walks in each group of people.

    The distances of a group are computed with a method that was not fitted to the group. The
    distances of a group are divided by the median distance between walks of two people outside of
    the group.

    Args:
        distances: Distances between all walks, one array per group. The smallest possible distance
            must be 0.
        walkers: Result of `walks` for all people.
        groups: Result of `groups`.
    """

    def __init__(self, distances, walkers, groups):
        subjects, self._groups = np.array(walkers.subjects), []
        for values, group in zip(distances, groups, strict=True):
            tested = np.isin(subjects, group)
            outside = subjects[~tested]
            unit = np.median(values[np.ix_(~tested, ~tested)][outside[:, None] != outside])
            self._groups.append((values[np.ix_(tested, tested)] / unit, walkers.take(tested)))

    def trials(self, enrolled=ENROLLED):
        """Returns the joined trials of all groups, see `claims`."""
        return trials.concatenate([claims(*group, enrolled) for group in self._groups])

    def eer(self):
        """Returns the pooled EER of the trials."""
        claimed = self.trials()
        return evaluation.verification(claimed.scores, claimed.genuine).eer

    def rows(self):
        """Returns rows for the entry `figures` of a card. The rows contain figures with fewer
        enrolled runs and the same probes.
        """
        return [
            phone.eer_row(f"{count} run{'s' * (count > 1)} enrolled", self.trials(count))
            for count in (1, 3, ENROLLED)
        ]
