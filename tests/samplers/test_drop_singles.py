"""Tests that `drop_singles` leaves out classes with too few recordings."""

import numpy as np
import pytest

from keras_dml.samplers import EpisodeSampler, NPairSampler, PKSampler

SIZES = {"ann": 3, "bob": 1, "cid": 2, "dan": 1, "eve": 4}
Y = np.repeat(list(SIZES), list(SIZES.values()))
X = np.arange(len(Y), dtype="float32").reshape(-1, 1, 1)


def drawn(sampler):
    """Returns the names of all classes that a sampler draws, and checks that rows and labels
    agree."""
    names = np.array(sampler.class_names)
    for signal, labels in sampler:
        np.testing.assert_array_equal(names[labels], Y[signal.ravel().astype(int)])
    return set(np.concatenate([names[labels] for _, labels in sampler]).tolist())


@pytest.mark.parametrize(
    "build, left, dropped",
    [
        (lambda **options: NPairSampler(X, Y, 2, **options), ["ann", "cid", "eve"], ["bob", "dan"]),
        (lambda **options: PKSampler(X, Y, 2, 3, **options), ["ann", "eve"], ["bob", "cid", "dan"]),
        (
            lambda **options: EpisodeSampler(X, Y, 2, 2, 1, **options),
            ["ann", "eve"],
            ["bob", "cid", "dan"],
        ),
    ],
)
def test_classes_with_too_few_recordings_are_left_out_and_listed(build, left, dropped):
    sampler = build(drop_singles=True, steps=20)
    assert (sampler.class_names, sampler.dropped_classes) == (left, dropped)
    assert drawn(sampler) == set(left)
    with pytest.raises(ValueError, match="drop_singles=True"):
        build()


def test_what_is_left_is_drawn_as_if_the_others_had_never_been(rng):
    remaining = np.isin(Y, ["ann", "cid", "eve"])
    sessions = np.arange(len(Y)) % 2
    options = dict(pairs=2, steps=5, seed=3)
    whole = NPairSampler(X, Y, drop_singles=True, sessions=sessions, **options)
    part = NPairSampler(X[remaining], Y[remaining], sessions=sessions[remaining], **options)
    for (signal, labels), (expected, ids) in zip(whole, part, strict=True):
        np.testing.assert_array_equal(signal, expected)
        np.testing.assert_array_equal(labels, ids)


def test_nothing_is_left_out_where_all_have_enough():
    y = np.repeat(["ann", "bob"], 2)
    assert NPairSampler(X[:4], y, 2, drop_singles=True).dropped_classes == []
