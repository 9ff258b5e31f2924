"""Reads two data sets of voices, and divides their people into training and test and into trials.

The sets are the actors of RAVDESS in a studio and the callers of Hyke over the telephone.
"""

import numpy as np

from tfds_builders.hyke_voice.splits import split_of
from tfds_builders.ravdess_speech.ravdess_speech_dataset_builder import split_actors
from zoo import speech, telephone

TEACHING = "train"
SCORES = "scores.npz"  # of a recipe's cross-validation, in the folder of its run


def everybody(prepare=False):
    """Reads every recording of both data sets, RAVDESS first.

    Args:
        prepare: See `speech.utterances`.
    """
    return speech.utterances(prepare) + telephone.lines(prepare=prepare)


def is_telephone(subjects):
    """Returns true for voices of Hyke at any speed, shape `(recordings,)`."""
    return ~np.char.isdigit(np.asarray(subjects).astype("U1"))


def teaches(subjects):
    """Returns true for recordings of people in the split `train` of their data set, shape
    `(recordings,)`.

    No model is trained on the people of `validation` and `test`. Settings are chosen by
    cross-validation over the training people.
    """
    actors = {int(subject) for subject in subjects if subject.isdigit()}
    taught = set(split_actors(actors)[TEACHING]) if actors else set()
    return np.array([s in taught if s.isdigit() else split_of(s[1:]) == TEACHING for s in subjects])


def folds(subjects, count=5):
    """Divides the people into folds with men and women of both data sets, see `speech.folds`.

    Args:
        subjects: Person of each recording.
        count: Number of folds.
    """
    subjects = np.asarray(subjects)
    far = is_telephone(subjects)
    halves = [speech.folds(subjects[part].tolist(), count) for part in (~far, far)]
    return tuple(actors + callers for actors, callers in zip(*halves, strict=True))


def trials(people, parts):
    """Returns all pairs of recordings of one data set within each fold, see `speech.trials`.

    The two data sets differ in room, microphone and text, so imposters from the other data set
    would be too easy to reject.
    """
    first, second, genuine, fold = speech.trials(people.subjects, parts)
    far = is_telephone(people.subjects)
    keep = far[first] == far[second]
    return first[keep], second[keep], genuine[keep], fold[keep]


def examples(split, prepare):
    """Returns recordings and ids of their people, for `export/quality.py`.

    Args:
        split: `"train"` for the training people, or `"test"` for all other people.
        prepare: See `everybody`.
    """
    people = everybody(prepare)
    selected = people.take(teaches(people.subjects) == (split == "train"))
    return selected.signals, np.unique(selected.subjects, return_inverse=True)[1]


def of_test(people):
    """Returns the recordings of the test people as one fold, and its trials.

    Args:
        people: Output of `everybody`.

    Returns:
        `(People, trials)`.
    """
    left = people.take(~teaches(people.subjects))
    return left, trials(left, (tuple(sorted(set(left.subjects))),))


def cross_validated(people, parts, train, scores):
    """Computes the scores of the trials of each fold with a model that was not trained on the fold.

    Args:
        people: Output of `everybody`.
        parts: Output of `folds`.
        train: Function that takes the number of a fold and the people outside of the fold, and
            returns a model.
        scores: Function that takes a model, signals and trials, and returns similarities by name.

    Returns:
        Arrays of shape `(trials,)` by name, as `numpy.savez` takes them: `first`, `second`,
        `fold`, and the scores.
    """
    subjects = np.asarray(people.subjects)
    first, second, genuine, fold = trials(people, parts)
    results = {"first": first, "second": second, "fold": fold}
    for k, held_out in enumerate(parts):
        model, is_fold = train(k, people.without(held_out)), fold == k
        members = np.flatnonzero(np.isin(subjects, held_out))
        rows = [np.searchsorted(members, side[is_fold]) for side in (first, second)]
        signals = [people.signals[i] for i in members]
        for name, values in scores(model, signals, rows).items():
            results.setdefault(name, np.empty(len(genuine)))[is_fold] = values
    return results
