"""Tests that PKSampler draws P classes with K different recordings of each class."""

import collections

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keras_dml.samplers import NPairSampler, PKSampler


@given(st.data())
def test_batch_has_p_classes_in_blocks_of_k_different_recordings(data):
    per_class = data.draw(st.integers(2, 4))
    members = data.draw(st.lists(st.integers(per_class, 6), min_size=2, max_size=8))
    classes = data.draw(st.integers(2, len(members)))
    y = np.repeat(np.arange(len(members)), members)
    x = np.arange(len(y), dtype="float32").reshape(-1, 1, 1)
    for signal, labels in PKSampler(x, y, classes, per_class):
        recordings = signal[:, 0, 0].astype(int)
        assert len(set(recordings.tolist())) == classes * per_class
        np.testing.assert_array_equal(y[recordings], labels)
        blocks = labels.reshape(classes, per_class)
        assert (blocks == blocks[:, :1]).all()
        assert len(set(blocks[:, 0].tolist())) == classes


def test_block_spans_as_many_sessions_as_the_class_has():
    sessions = np.array([0, 0, 0, 0, 1, 2] + [0, 0, 0, 1, 1, 1])
    y = np.repeat([0, 1], 6)
    x = np.arange(12, dtype="float32").reshape(-1, 1, 1)
    for signal, labels in PKSampler(x, y, 2, 4, sessions=sessions, steps=50):
        recordings = signal[:, 0, 0].astype(int)
        for label, most in ((0, [1, 1, 2]), (1, [2, 2])):
            drawn = collections.Counter(sessions[recordings[labels == label]].tolist())
            assert sorted(drawn.values()) == most


def test_two_per_class_is_the_n_pair_batch():
    x, y = np.arange(15, dtype="float32").reshape(-1, 1, 1), np.repeat(np.arange(5), 3)
    for pk, npair in zip(PKSampler(x, y, 3, 2), NPairSampler(x, y, 3), strict=True):
        np.testing.assert_array_equal(pk[0], npair[0])
        np.testing.assert_array_equal(pk[1], npair[1])
