"""Reads two data sets of voices, divides their people into training and test, and makes trials.

The data sets are RAVDESS, with actors in a studio, and Hyke, with callers over the telephone.
"""

import numpy as np

from tfds_builders.hyke_voice.splits import split_of
from tfds_builders.ravdess_speech.ravdess_speech_dataset_builder import split_actors
from zoo import speech, telephone

TEACHING = "train"
SCORES = "scores.npz"  # of a recipe's cross-validation, in the folder of its run


def everybody(prepare=False):
    """Reads all recordings of both data sets, first RAVDESS and then Hyke.

    Args:
        prepare: See `speech.utterances`.
    """
    return speech.utterances(prepare) + telephone.lines(prepare=prepare)


def is_telephone(subjects):
    """Returns for each recording whether its voice is from Hyke, at any speed, shape
    `(recordings,)`.
    """
    return ~np.char.isdigit(np.asarray(subjects).astype("U1"))


def teaches(subjects):
    """Returns for each recording whether its person is in the split `train` of the data set, shape
    `(recordings,)`.

    No model is trained on people in the splits `validation` and `test`. Settings are chosen by
    cross-validation over the training people.
    """
    actors = {int(subject) for subject in subjects if subject.isdigit()}
    taught = set(split_actors(actors)[TEACHING]) if actors else set()
    return np.array([s in taught if s.isdigit() else split_of(s[1:]) == TEACHING for s in subjects])


def folds(subjects, count=5):
    """Divides people into folds. Each fold contains men and women from both data sets, see
    `speech.folds`.

    Args:
        subjects: Person of each recording.
        count: Number of folds.
    """
    subjects = np.asarray(subjects)
    far = is_telephone(subjects)
    halves = [speech.folds(subjects[part].tolist(), count) for part in (~far, far)]
    return tuple(actors + callers for actors, callers in zip(*halves, strict=True))


def trials(people, parts):
    """Returns all pairs of two recordings from the same fold and the same data set, see
    `speech.trials`.

    The two data sets differ in room, microphone and text. Therefore imposters from the other data
    set would be too easy to reject.
    """
    first, second, genuine, fold = speech.trials(people.subjects, parts)
    far = is_telephone(people.subjects)
    keep = far[first] == far[second]
    return first[keep], second[keep], genuine[keep], fold[keep]


def examples(split, prepare):
    """Returns recordings and the ids of their people. `export/quality.py` uses them.

    Args:
        split: `"train"` for the training people, or `"test"` for all other people.
        prepare: See `everybody`.
    """
    people = everybody(prepare)
    selected = people.take(teaches(people.subjects) == (split == "train"))
    return selected.signals, np.unique(selected.subjects, return_inverse=True)[1]


def of_test(people):
    """Returns the recordings of the test people, and the trials between them. All test people form
    one fold.

    Args:
        people: Output of `everybody`.

    Returns:
        `(People, trials)`.
    """
    left = people.take(~teaches(people.subjects))
    return left, trials(left, (tuple(sorted(set(left.subjects))),))


def cross_validated(people, parts, train, scores):
    """Trains a model without the people of each fold, and computes the scores of the fold's trials
    with this model.

    Args:
        people: Output of `everybody`.
        parts: Output of `folds`.
        train: Function that takes the number of a fold and the people outside of the fold, and
            returns a model.
        scores: Function that takes a model, signals and trials, and returns a dictionary from names
            to similarities.

    Returns:
        Dictionary from names to arrays of shape `(trials,)`, which `numpy.savez` can write. The
        dictionary contains `first`, `second`, `fold` and the scores.
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
