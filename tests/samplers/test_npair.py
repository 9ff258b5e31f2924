"""Tests that NPairSampler draws correct pairs, that an epoch contains every class, and that a seed
reproduces the batches."""

import collections
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml.samplers import EpisodeSampler, NPairSampler, PKSampler


def numbered(members, steps=4):
    """Returns recordings and their classes: `members[c]` recordings of each class c. All values of
    a recording are the index of the recording."""
    classes = [c for c, count in enumerate(members) for _ in range(count)]
    values = np.arange(len(classes), dtype="float32")
    return np.tile(values[:, None, None], (1, steps, 1)), np.array(classes)


def ramps(members, lengths):
    """Returns recordings of different lengths. Each value identifies the recording and the time
    step."""
    _, y = numbered(members)
    sizes = itertools.cycle(lengths)
    return [1000.0 * i + np.arange(next(sizes))[:, None] for i in range(len(y))], y


def epoch_of(sampler):
    return [(np.copy(signal), np.copy(labels)) for signal, labels in sampler]


def assert_same(batches, others):
    assert len(batches) == len(others)
    for (signal, labels), (other_signal, other_labels) in zip(batches, others, strict=True):
        np.testing.assert_array_equal(signal, other_signal)
        np.testing.assert_array_equal(labels, other_labels)


requests = st.lists(st.integers(2, 5), min_size=2, max_size=9).flatmap(
    lambda members: st.tuples(
        st.just(members), st.integers(2, len(members)), st.none() | st.integers(1, 7)
    )
)


@given(requests, st.integers(0, 2**64))
def test_batch_has_each_of_n_classes_twice_in_adjacent_rows_of_different_recordings(request, seed):
    members, pairs, steps = request
    x, y = numbered(members)
    for signal, labels in NPairSampler(x, y, pairs, steps=steps, seed=seed):
        assert signal.shape == (2 * pairs, 4, 1) and signal.dtype == np.float32
        assert labels.shape == (2 * pairs,) and labels.dtype == np.int32
        recordings = signal[:, 0, 0].astype(int)
        np.testing.assert_array_equal(labels[0::2], labels[1::2])
        assert set(collections.Counter(labels.tolist()).values()) == {2}
        assert (recordings[0::2] != recordings[1::2]).all()
        np.testing.assert_array_equal(y[recordings], labels)


def test_an_epoch_has_as_many_batches_as_asked_for():
    x, y = numbered([2] * 9)
    assert len(NPairSampler(x, y, 5)) == 2  # ceil(9 / 5)
    asked, older = NPairSampler(x, y, 5, steps_per_epoch=7), NPairSampler(x, y, 5, steps=7)
    assert len(asked) == len(older) == 7
    for first, second in zip(asked, older, strict=True):
        np.testing.assert_array_equal(first[0], second[0])
    assert len(PKSampler(x, y, 5, 2, steps_per_epoch=4)) == 4
    assert len(EpisodeSampler(x, y, 3, 1, 1, steps_per_epoch=6)) == 6


@given(requests)
def test_epoch_without_steps_covers_every_class_once_but_for_the_last_batch(request):
    members, pairs, _ = request
    sampler = NPairSampler(*numbered(members), pairs)
    assert len(sampler) == math.ceil(len(members) / pairs)
    seen = collections.Counter(np.concatenate([labels[::2] for _, labels in sampler]).tolist())
    assert set(seen) == set(range(len(members)))
    assert sum(seen.values()) == len(sampler) * pairs
    assert max(seen.values()) <= 2


def test_every_pair_of_recordings_of_a_class_comes_up():
    sampler = NPairSampler(*numbered([3, 3]), 2, steps=200)
    pairs = {tuple(row) for signal, _ in sampler for row in signal[:, 0, 0].reshape(2, 2)}
    within = [*itertools.permutations(range(3), 2), *itertools.permutations(range(3, 6), 2)]
    assert pairs == set(within)


@pytest.mark.parametrize("parts", [2, 4])
def test_equal_contiguous_parts_for_replicas_split_no_pair(parts):
    for _, labels in NPairSampler(*numbered([2] * 9), 8):
        for part in np.split(labels, parts):
            assert set(collections.Counter(part.tolist()).values()) == {2}


def test_crop_is_a_stretch_of_its_recording_and_reaches_both_ends():
    x, y = ramps([2, 2, 2], lengths=[7, 9, 5])
    sampler = NPairSampler(x, y, 3, length=5, steps=200)
    starts = collections.defaultdict(set)
    for signal, _ in sampler:
        assert signal.shape == (6, 5, 1)
        for row in signal[:, :, 0]:
            recording, start = divmod(int(row[0]), 1000)
            np.testing.assert_array_equal(row, x[recording][start : start + 5, 0])
            starts[recording].add(start)
    for recording, values in starts.items():
        assert values == set(range(len(x[recording]) - 5 + 1))


def test_object_array_of_recordings_gives_the_batches_of_the_list():
    x, y = ramps([2, 2], lengths=[5, 6])
    objects = np.empty(len(x), object)
    objects[:] = x
    assert_same(
        epoch_of(NPairSampler(objects, y, 2, length=5)), epoch_of(NPairSampler(x, y, 2, length=5))
    )


def test_integer_recordings_become_float32():
    signal, _ = NPairSampler(np.ones((4, 3, 2), "int16"), [0, 0, 1, 1], 2)[0]
    assert signal.dtype == np.float32 and (signal == 1).all()


def test_positive_is_from_another_session_where_the_class_has_several():
    x, y = numbered([6, 3, 2])
    sessions = np.array(["mon"] * 4 + ["tue", "wed"] + ["mon", "mon", "tue"] + ["mon", "mon"])
    for signal, labels in NPairSampler(x, y, 3, sessions=sessions, steps=60):
        recordings = signal[:, 0, 0].astype(int)
        second = sessions[recordings[0::2]] != sessions[recordings[1::2]]
        np.testing.assert_array_equal(second, labels[::2] < 2)  # class 2 has only one session
        assert (recordings[0::2] != recordings[1::2]).all()


def test_anchors_are_uniform_over_recordings_when_sessions_differ_in_size():
    x, y = numbered([4, 4])
    sessions = [0, 0, 0, 1] * 2
    anchors = np.concatenate(
        [s[::2, 0, 0] for s, _ in NPairSampler(x, y, 2, sessions=sessions, steps=2000)]
    )
    share = np.bincount(anchors.astype(int), minlength=8) / 2000
    np.testing.assert_allclose(share, 0.25, rtol=0, atol=0.05)  # five standard errors


def test_labels_are_dense_and_class_names_give_the_ids_back():
    x, _ = numbered([2, 2, 2])
    y = np.array(["zoe", "ann", 2**24 + 1, "ann", 2**24 + 1, "zoe"]).astype(str)
    sampler = NPairSampler(x, y, 3)
    signal, labels = sampler[0]
    assert sorted(set(labels.tolist())) == [0, 1, 2]
    assert [sampler.class_names[i] for i in labels] == list(y[signal[:, 0, 0].astype(int)])


def test_same_seed_gives_the_same_epochs_and_another_seed_others():
    x, y = ramps([3] * 5, lengths=[8, 9])
    first, second = (NPairSampler(x, y, 4, length=6, seed=5) for _ in range(2))
    for _ in range(3):
        assert_same(epoch_of(first), epoch_of(second))
        first.on_epoch_end()
        second.on_epoch_end()
    another = NPairSampler(x, y, 4, length=6, seed=6)
    assert not np.array_equal(another[0][0], NPairSampler(x, y, 4, length=6, seed=5)[0][0])


def test_batch_does_not_depend_on_the_batches_drawn_before_it():
    sampler = NPairSampler(*numbered([3] * 7), 2, steps=10)
    forward = epoch_of(sampler)
    assert_same(forward[::-1], [sampler[i] for i in reversed(range(10))])


def test_pickled_copy_draws_the_same_batches():
    sampler = NPairSampler(*numbered([3] * 7), 2)
    sampler.on_epoch_end()
    assert_same(epoch_of(sampler), epoch_of(pickle.loads(pickle.dumps(sampler))))


def test_epochs_differ_and_a_set_epoch_resumes():
    sampler = NPairSampler(*numbered([4] * 6), 3)
    epochs = []
    for _ in range(3):
        epochs.append(epoch_of(sampler))
        sampler.on_epoch_end()
    assert not np.array_equal(epochs[0][0][0], epochs[1][0][0])
    resumed = NPairSampler(*numbered([4] * 6), 3)
    resumed.epoch = 2
    assert_same(epoch_of(resumed), epochs[2])


def test_batches_stay_different_beyond_one_pass_over_the_classes():
    sampler = NPairSampler(*numbered([2] * 40), 20, steps=12)
    assert len({labels.tobytes() for _, labels in sampler}) == 12


def test_augment_sees_the_batch_and_a_generator_of_its_own():
    x, y = numbered([3] * 4)

    def jitter(batch, rng):
        return batch + rng.normal(size=batch.shape)  # float64 on purpose

    plain = NPairSampler(x, y, 3, seed=2)
    first, second = (NPairSampler(x, y, 3, seed=2, augment=jitter) for _ in range(2))
    assert_same(epoch_of(first), epoch_of(second))
    for (signal, labels), (bare, bare_labels) in zip(first, plain, strict=True):
        assert signal.dtype == np.float32
        np.testing.assert_array_equal(labels, bare_labels)
        assert 0 < np.abs(signal - bare).max() < 6


def test_augment_in_place_leaves_the_recordings_alone():
    x, y = numbered([2, 2])
    before = x.copy()

    def zero(batch, rng):
        batch[:] = 0
        return batch

    assert (NPairSampler(x, y, 2, augment=zero)[0][0] == 0).all()
    np.testing.assert_array_equal(x, before)
