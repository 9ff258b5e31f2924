"""Tests that constructors of samplers raise an error if data cannot satisfy the arguments."""

import numpy as np
import pytest

from keras_dml.samplers import EpisodeSampler, NPairSampler, PKSampler

Y = ["ann", "ann", "bob", "bob", "cid", "cid"]


def recordings(lengths=(9, 9, 9, 9, 9, 9), channels=2):
    return [np.zeros((steps, channels)) for steps in lengths]


def with_one(index, recording):
    x = recordings()
    x[index] = recording
    return x


def spoiled(value):
    return with_one(3, np.where(np.arange(18).reshape(9, 2) == 5, value, 0.0))


IMPOSSIBLE = {
    "more pairs than classes": (
        dict(pairs=4),
        r"`pairs` must be at most 3, the number of classes in `y`.* Received: pairs=4",
    ),
    "one pair has no negative": (dict(pairs=1), r"`pairs` must be at least 2\. Received: 1"),
    "class with one member": (
        dict(y=["ann", "ann", "bob", "bob", "cid", "ann"]),
        r"a class with only one .*'cid' \(recording 4\).* `drop_singles=True`",
    ),
    "classes with one member": (
        dict(y=["ann", "ann", "bob", "dan", "cid", "ann"]),
        r"3 classes with only one .*'bob' \(recording 2\).* `drop_singles=True`",
    ),
    "fewer classes than pairs once singles are dropped": (
        dict(y=["ann", "ann", "bob", "bob", "cid", "ann"], drop_singles=True),
        r"`pairs` must be at most 2, .* \(1 left out by `drop_singles`\).* Received: pairs=3",
    ),
    "class with one member and crops": (
        dict(y=["ann", "ann", "bob", "bob", "cid", "ann"], length=5),
        r"a class with only one .*'cid' \(recording 4\)",
    ),
    "shorter than length": (
        dict(x=recordings((9, 9, 9, 7, 9, 6)), length=8),
        r"Recording 3 has 7 time steps, fewer than length=8.* `length=6`",
    ),
    "lengths differ": (
        dict(x=recordings((9, 9, 8, 9, 9, 11))),
        r"recordings of 8 to 11 time steps.* `length` \(at most 8\)",
    ),
    "NaN": (dict(x=spoiled(np.nan)), r"Recording 3 of `x` holds NaN or infinite values \(1 of 18"),
    "infinite": (dict(x=spoiled(-np.inf)), r"Recording 3 of `x` holds NaN or infinite"),
    "infinite in float32": (dict(x=spoiled(1e300)), r"Recording 3 of `x` holds .* in float32"),
    "zero time steps": (
        dict(x=with_one(2, np.zeros((0, 2)))),
        r"Recording 2 of `x` is empty.* shape \(0, 2\)",
    ),
    "no channels": (dict(x=recordings(channels=0)), r"Recording 0 of `x` is empty"),
    "channels differ": (
        dict(x=with_one(4, np.zeros((9, 3)))),
        r"Recording 4 has 3 channels, .*recording 0 has 2",
    ),
    "rank of one recording": (
        dict(x=with_one(1, np.zeros(9))),
        r"Recording 1 of `x` must have shape \(time, channels\)\. Received shape \(9,\)",
    ),
    "rank of the array": (
        dict(x=np.zeros((6, 9))),
        r"shape \(recordings, time, channels\).* Received shape \(6, 9\)\. .*`x\[\.\.\., None\]`",
    ),
    "no recordings": (dict(x=[], y=[]), r"at least one recording"),
    "fewer ids than recordings": (dict(y=Y[:5]), r"Received 5 ids for the 6 recordings"),
    "fewer sessions than recordings": (
        dict(sessions=[1, 2]),
        r"`sessions` must hold one id per recording.* 2 ids",
    ),
    "no steps an epoch": (dict(steps_per_epoch=0), r"`steps_per_epoch` must be at least 1"),
    "both names of the steps": (
        dict(steps_per_epoch=2, steps=3),
        r"steps_per_epoch=2 and steps=3",
    ),
    "no steps": (dict(steps=0), r"`steps` must be at least 1\. Received: 0"),
    "no length": (dict(length=0), r"`length` must be at least 1"),
    "negative seed": (dict(seed=-1), r"`seed` must be at least 0"),
}


@pytest.mark.parametrize(("request_", "message"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_impossible_request_is_refused_at_construction(request_, message):
    arguments = {"x": recordings(), "y": Y, "pairs": 3, **request_}
    with pytest.raises(ValueError, match=message):
        NPairSampler(**arguments)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (dict(x=with_one(2, np.full((9, 2), "a"))), r"Recording 2 of `x` must hold real numbers"),
        (dict(x=with_one(2, np.full((9, 2), 1j))), r"Recording 2 of `x` .* complex128"),
        (
            dict(x=with_one(2, np.ma.array(np.zeros((9, 2)), mask=np.eye(9, 2)))),
            r"Recording 2 of `x` must hold .* 2 of 18 masked, the first at \(0, 0\)",
        ),
        (
            dict(x=np.ma.masked_equal(np.arange(108.0).reshape(6, 9, 2), 40)),
            "`x`.* 1 of 108 masked",
        ),
        (dict(x=with_one(2, np.zeros((9, 2), "M8[s]"))), r"Recording 2 of `x` .* datetime64"),
        (
            dict(x=with_one(2, np.zeros((9, 2), [("a", "f4")]))),
            r"Recording 2 of `x` must hold real",
        ),
        (dict(y=np.ma.array([0, 0, 1, 1, 2, 2], mask=[0, 0, 0, 0, 0, 1])), "`y`.* 1 of 6 masked"),
        (dict(y=np.array([0, 0, 1, 1, 2, 2], "M8[D]")), r"`y` .*datetime64.*astype\(str\)"),
        (dict(y=np.zeros(6, [("a", "i4")])), "`y` must hold integers, strings or bytes"),
        (dict(sessions=np.ma.array([0, 1] * 3, mask=[1] * 6)), "`sessions`.* 6 of 6 masked"),
        (dict(x=None), "`x` must hold recordings, which are arrays .* Received None"),
        (dict(augment="noise"), r"`augment` must be a function .*Received 'noise'"),
        (dict(pairs=True), r"`pairs` must be an integer\. Received: True"),
        (dict(steps=2.0), r"`steps` must be an integer\. Received: 2\.0"),
        (dict(pairs=2.5), r"`pairs` must be an integer\. Received: 2\.5"),
        (dict(seed=None), r"`seed` must be an integer\. Received: None"),
    ],
)
def test_wrong_type_is_refused_at_construction(request_, message):
    arguments = {"x": recordings(), "y": Y, "pairs": 3, **request_}
    with pytest.raises(TypeError, match=message):
        NPairSampler(**arguments)


def test_default_of_sixteen_pairs_is_refused_on_fewer_classes():
    with pytest.raises(ValueError, match=r"at most 3.* Received: pairs=16"):
        NPairSampler(recordings(), Y)


def test_request_at_the_limit_is_served():
    assert NPairSampler(recordings(), Y, 3, length=9)[0][0].shape == (6, 9, 2)


@pytest.mark.parametrize(
    ("classes", "per_class", "message"),
    [
        (4, 2, r"`classes` must be at most 3"),
        (1, 2, r"`classes` must be at least 2"),
        (3, 1, r"`per_class` must be at least 2"),
        (3, 3, r"`per_class` must be at most 2, .* smallest class, 'ann'.*drop_singles=True"),
    ],
)
def test_more_than_the_classes_have_is_refused(classes, per_class, message):
    with pytest.raises(ValueError, match=message):
        PKSampler(recordings(), Y, classes, per_class)


def test_batch_outside_the_epoch_is_an_index_error():
    sampler = NPairSampler(recordings(), Y, 3, steps=2)
    for index in (-1, 2):
        with pytest.raises(IndexError, match=rf"2 batches\. Received index {index}"):
            sampler[index]


def test_negative_epoch_is_refused():
    with pytest.raises(ValueError, match=r"`epoch` must be at least 0"):
        NPairSampler(recordings(), Y, 3).epoch = -1


def test_augment_that_loses_rows_is_refused():
    sampler = NPairSampler(recordings(), Y, 3, augment=lambda batch, rng: batch[:4])
    with pytest.raises(ValueError, match=r"all 6 rows of the batch .*Received shape \(4, 9, 2\)"):
        sampler[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: np.ma.array(x, mask=x == 4), "`x` must hold .* 1 of 36 masked"),
        (lambda x: x + 1j, "`x` must hold real numbers.*complex128"),
        (lambda x: x.astype(str), "`x` must hold real numbers.*dtype <U"),
    ],
)
def test_examples_of_an_episode_that_are_no_numbers_are_refused(change, message):
    x = np.arange(36.0).reshape(12, 3)
    EpisodeSampler(x, np.arange(12) % 3, ways=2, shots=1, queries=1)
    with pytest.raises(TypeError, match=message):
        EpisodeSampler(change(x), np.arange(12) % 3, ways=2, shots=1, queries=1)


def test_no_recordings_are_refused_in_words():
    for x in ([], np.zeros((0, 9, 2))):
        with pytest.raises(ValueError, match="at least one recording. Received none"):
            PKSampler(x, [], 2, 2)
    with pytest.raises(ValueError, match="at least one example.* Received shape"):
        EpisodeSampler(np.zeros((0, 3)), [], ways=2, shots=1, queries=1)
