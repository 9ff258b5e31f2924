"""Tests whether embeddings of typed sentences depend on the text."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from keras_dml import evaluation, inference
from keras_dml._backend import keras
from zoo import keystrokes

SENTENCES = 50  # the most frequent sentences of the people in the test
FOLDS = 5
CODES = 256  # key codes of JavaScript are smaller


def measure(out):
    """Measures a classifier of sentences, and the error rates on sentences that nobody in the
    training data typed.
    """
    train = keystrokes.typists(keystrokes.KNOWN).people
    model = keystrokes.closed_form(train)
    typed = keystrokes.typists(keystrokes.UNSEEN)
    return {"classifier": readable(model, typed), "new_sentences": new_sentences(model, train)}


def readable(model, typed):
    """Classifies the most frequent sentences by the embeddings of people who were not used to train
    the classifier.

    Args:
        model: Model of the closed form.
        typed: `Typists` of people to whom the model was not fitted.
    """
    names, codes, counts = np.unique(typed.texts, return_inverse=True, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:SENTENCES]
    rows = np.flatnonzero(np.isin(codes, frequent))
    people, labels = typed.people.take(rows), codes[rows]
    statistics = keras.Model(model.input, model.get_layer("statistics").output)
    inputs = {
        "embedding": inference.embed(model, people.signals, keystrokes.BATCH, progress=False)[:, 0],
        "statistics": inference.embed(statistics, people.signals, keystrokes.BATCH, progress=False),
        "counts of keys": np.array([_counts(signal) for signal in people.signals]),
    }
    share = np.bincount(labels).max() / len(labels)
    accuracies = {name: _accuracy(x, labels, people.subjects) for name, x in inputs.items()}
    return {
        "sentences": len(frequent),
        "recordings": len(rows),
        "people": len(set(people.subjects)),
        "chance": float(share),
        "accuracy": accuracies,
    }


def _counts(signal):
    """Returns how often each key is pressed in a sentence."""
    return np.bincount(signal[:, 2].astype(int) % CODES, minlength=CODES)


def _accuracy(x, labels, people):
    classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=300))
    predicted = cross_val_predict(classifier, x, labels, groups=people, cv=GroupKFold(FOLDS))
    return float((predicted == labels).mean())


def new_sentences(model, train):
    """Compares two models on sentences of the people of the split `test`. Nobody in the training
    data of the first model typed these sentences. The second model is fitted to all sentences of
    the training people.

    Args:
        model: Second model.
        train: `People` to whom the second model was fitted.
    """
    config = "new_sentences"
    learned = keystrokes.typists(("train",), config).people
    first = keystrokes.closed_form(learned)
    second = keystrokes.closed_form(train.select(set(learned.subjects)))
    tested = keystrokes.typists(keystrokes.UNSEEN, config).people
    rows = []
    for name, fitted in (("other sentences", first), ("all sentences", second)):
        embeddings = inference.embed(fitted, tested.signals, keystrokes.BATCH, progress=False)
        compare = keystrokes.by_scoring(fitted, "two_covariance")
        for count in (1, keystrokes.PROBES):
            claimed = keystrokes.claims(compare, embeddings, tested, count, probes=count)
            result = evaluation.verification(
                claimed.scores, claimed.genuine, people=claimed.people, bootstrap=200
            )
            people = len(np.unique(claimed.probes))
            row = {"fitted to": name, "sentences": count, "people": people}
            rows.append(row | {"eer": [result.eer, *result.intervals["eer"]]})
    return {"recordings": len(learned.signals), "rows": rows}
