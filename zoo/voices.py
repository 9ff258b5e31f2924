"""People of two sets of voices, the actors of RAVDESS in a studio and the callers of Hyke over the
telephone: who teaches, who is left for tests, and the trials of these."""

import numpy as np

from tfds_builders.hyke_voice.splits import split_of
from tfds_builders.ravdess_speech.ravdess_speech_dataset_builder import split_actors
from zoo import speech, telephone

TEACHING = "train"
SCORES = "scores.npz"  # of a recipe's cross-validation, in the folder of its run


def everybody(prepare=False):
    """Every recording of both sets, RAVDESS first.

    Args:
        prepare: See `speech.utterances`.
    """
    return speech.utterances(prepare) + telephone.lines(prepare=prepare)


def is_telephone(subjects):
    """Whether each person is a voice of Hyke, at any speed; shape `(recordings,)`."""
    return ~np.char.isdigit(np.asarray(subjects).astype("U1"))


def teaches(subjects):
    """Whether each person is in the split `train` of their set, shape `(recordings,)`.

    Those of `validation` and `test` are heard by no model: settings are chosen by folds of those
    who teach.
    """
    actors = {int(subject) for subject in subjects if subject.isdigit()}
    taught = set(split_actors(actors)[TEACHING]) if actors else set()
    return np.array([s in taught if s.isdigit() else split_of(s[1:]) == TEACHING for s in subjects])


def folds(subjects, count=5):
    """Folds of both sets: the k-th holds men and women of each, see `speech.folds`.

    Args:
        subjects: Person of each recording.
        count: Number of folds.
    """
    subjects = np.asarray(subjects)
    far = is_telephone(subjects)
    halves = [speech.folds(subjects[part].tolist(), count) for part in (~far, far)]
    return tuple(actors + callers for actors, callers in zip(*halves, strict=True))


def trials(people, parts):
    """All pairs of recordings of one set within each fold; see `speech.trials`.

    Two sets differ in room, microphone and text: imposters from the other one are no test.
    """
    first, second, genuine, fold = speech.trials(people.subjects, parts)
    far = is_telephone(people.subjects)
    keep = far[first] == far[second]
    return first[keep], second[keep], genuine[keep], fold[keep]


def examples(split, prepare):
    """Recordings and ids of their people, as `export/quality.py` takes them.

    Args:
        split: `"train"`, those who teach, or `"test"`, all others.
        prepare: See `everybody`.
    """
    people = everybody(prepare)
    selected = people.take(teaches(people.subjects) == (split == "train"))
    return selected.signals, np.unique(selected.subjects, return_inverse=True)[1]


def of_test(people):
    """The recordings of those who do not teach, as one fold, and its trials.

    Args:
        people: Output of `everybody`.

    Returns:
        `(People, trials)`.
    """
    left = people.take(~teaches(people.subjects))
    return left, trials(left, (tuple(sorted(set(left.subjects))),))


def cross_validated(people, parts, train, scores):
    """Scores of the trials of all folds, each fold by a model that heard none of its people.

    Args:
        people: Output of `everybody`.
        parts: Output of `folds`.
        train: Function of the number of a fold and of the people outside of it; gives a model.
        scores: Function of a model, signals and trials; gives similarities by name.

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
