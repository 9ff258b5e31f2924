"""Tests that one prototypical classifier solves all tasks of Monteiro2020, section 1.

The tasks are classification, few-shot learning, verification, retrieval, novelty detection and
two-sample tests.
"""

import numpy as np
import pytest

from keras_dml import evaluation, models
from keras_dml._backend import keras

KNOWN, NEW, EACH = 4, 3, 30


def clouds(seed):
    """Draws seven clouds of points, which stand for images of known classes and of new classes."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(KNOWN + NEW), EACH)
    centers = np.random.default_rng(3).normal(scale=3, size=(KNOWN + NEW, 6))
    return (centers[y] + rng.normal(size=(len(y), 6))).astype("float32"), y


def two_samples(similarity, x, y):
    """Runs the two-sample test. Each example belongs to a different person."""
    people = range(len(x)), range(len(x), len(x) + len(y))
    return evaluation.two_samples(similarity, x, y, people=people, permutations=99)


@pytest.fixture(scope="module")
def classifier():
    keras.utils.set_random_seed(4)
    encoder = [keras.Input((6,)), keras.layers.Dense(16, "tanh"), keras.layers.Dense(6)]
    model = models.PrototypicalClassifier(keras.Sequential(encoder), KNOWN, hidden=(32,))
    model.compile(keras.optimizers.Adam(0.01), jit_compile=False)
    x, y = clouds(0)
    known = y < KNOWN
    model.fit(x[known], y[known], epochs=30, batch_size=60, verbose=0)
    model.refit_prototypes(x[known], y[known])
    return model


@pytest.fixture(scope="module")
def embedded(classifier):
    x, y = clouds(1)
    return np.asarray(classifier.embed(x)), y


@pytest.mark.slow
def test_it_classifies(classifier):
    x, y = clouds(1)
    known = y < KNOWN
    assert np.mean(classifier.classify(x[known]) == y[known]) > 0.9


def test_it_learns_new_classes_from_few_samples(classifier, embedded):
    z, y = embedded
    new = y >= KNOWN
    found = evaluation.few_shot(
        z[new], y[new], ways=3, shots=5, episodes=50, similarity=classifier.similarity
    )
    assert found.mean > 0.8


def test_it_verifies_by_the_similarity_the_cosine_and_both(classifier, embedded):
    z, y = embedded
    z, y = z[y < KNOWN], y[y < KNOWN]
    first, second = np.triu_indices(len(y), 1)
    genuine = y[first] == y[second]
    similarity = np.asarray(classifier.similarity(z, z))[first, second]
    cosine = evaluation.paired_cosine(z[first], z[second])
    for scores in (similarity, evaluation.fuse(similarity, cosine)):
        assert evaluation.verification(-scores, genuine).eer < 0.15


def test_retrieval_in_two_stages_equals_retrieval_in_one(classifier, embedded):
    z, y = embedded
    whole = evaluation.retrieval(z, y, distance=classifier.distance)
    stages = evaluation.TwoStages(classifier.similarity, candidates=len(y))
    found = evaluation.retrieval(z, y, distance=stages)
    assert found.recall_at_k[1] == pytest.approx(whole.recall_at_k[1], abs=0.01)
    assert found.recall_at_k[1] > 0.8


def test_its_similarity_detects_new_classes_and_other_distributions(classifier, embedded):
    z, y = embedded
    scores = np.asarray(classifier.head_scores(z))
    found = evaluation.novelty_detection(
        evaluation.novelty(scores[y < KNOWN]), evaluation.novelty(scores[y >= KNOWN])
    )
    assert found.auroc > 0.6
    here, there = z[y < KNOWN][::2], z[y < KNOWN][1::2]
    same = two_samples(classifier.similarity, here, there)
    other = two_samples(classifier.similarity, here, z[y >= KNOWN])
    assert other.p_value == pytest.approx(0.01) and same.p_value > 0.05
