"""Tests that EpisodeSampler draws N classes with K support and Q query examples of each class."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml.samplers import EpisodeSampler


def numbered(count, shape=(2, 3, 1)):
    """Returns images in which every pixel holds the index of the image."""
    return np.broadcast_to(np.arange(count).reshape(-1, *[1] * len(shape)), (count, *shape))


@given(st.data())
def test_an_episode_has_its_classes_in_blocks_of_different_examples(data):
    shots, queries = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    sizes = data.draw(st.lists(st.integers(shots + queries, 7), min_size=2, max_size=6))
    ways = data.draw(st.integers(2, len(sizes)))
    y = np.repeat(np.arange(len(sizes)), sizes)
    sampler = EpisodeSampler(numbered(len(y)), y, ways, shots, queries)
    assert len(sampler) == -(-len(y) // (ways * (shots + queries)))
    for images, labels in sampler:
        assert images.shape == (ways * (shots + queries), 2, 3, 1) and images.dtype == "float32"
        examples = images[:, 0, 0, 0].astype(int)
        assert len(set(examples.tolist())) == len(examples)
        np.testing.assert_array_equal(y[examples], labels)
        support, query = labels[: ways * shots], labels[ways * shots :]
        classes = support.reshape(ways, shots)[:, 0]
        assert len(set(classes.tolist())) == ways
        np.testing.assert_array_equal(support, np.repeat(classes, shots))
        np.testing.assert_array_equal(query, np.repeat(classes, queries))


def test_an_episode_depends_on_seed_epoch_and_number_alone():
    y = np.repeat(list("abcd"), 9)
    item, second = (EpisodeSampler(numbered(36), y, 3, 1, 2, seed=5) for _ in range(2))
    last = second[len(second) - 1]
    for index in range(len(item)):
        batch = item[index]
    np.testing.assert_array_equal(batch[0], last[0])
    first = item[0][0]
    item.on_epoch_end()
    assert (item[0][0] != first).any()
    item.epoch = 0
    np.testing.assert_array_equal(item[0][0], first)
    assert (EpisodeSampler(numbered(36), y, 3, 1, 2, seed=6)[0][0] != first).any()


def test_classes_come_without_replacement_while_they_last():
    y = np.repeat(np.arange(6), 4)
    sampler = EpisodeSampler(numbered(24), y, 3, 1, 1, steps=2)
    assert sorted({*sampler[0][1].tolist(), *sampler[1][1].tolist()}) == list(range(6))


def test_labels_are_those_of_the_episode_where_asked():
    y = np.repeat([30, 10, 20], 5)
    whole = EpisodeSampler(numbered(15), y, 2, 1, 2)
    own = EpisodeSampler(numbered(15), y, 2, 1, 2, labels="episode")
    for (images, ids), (equal, places) in zip(whole, own, strict=True):
        np.testing.assert_array_equal(images, equal)
        assert places.tolist() == [0, 1, 0, 0, 1, 1] and places.dtype == np.int32
        names = np.array(whole.class_names)[ids]
        np.testing.assert_array_equal(names, y[images[:, 0, 0, 0].astype(int)])


@pytest.mark.parametrize("shape", [(4,), (50, 1), (5, 5, 3)])
def test_examples_of_any_shape_come_as_they_are(shape, rng):
    x = rng.normal(size=(20, *shape)).astype("f4")
    images, _ = EpisodeSampler(x, np.arange(20) % 2, 2, 3, 4)[0]
    assert images.shape == (14, *shape)
    assert all((image == x).reshape(20, -1).all(axis=1).any() for image in images)


def test_augmentation_is_repeatable_and_sees_whole_episodes():
    y = np.arange(20) % 2

    def augment(batch, rng):
        assert batch.shape == (6, 2, 3, 1)
        return batch + rng.random(batch.shape)

    sampler = EpisodeSampler(numbered(20), y, 2, 1, 2, augment=augment)
    plain = EpisodeSampler(numbered(20), y, 2, 1, 2)
    np.testing.assert_array_equal(sampler[1][0], sampler[1][0])
    assert (np.floor(sampler[1][0]) == plain[1][0]).all()
    assert sampler[1][0].dtype == "float32"


def test_tf_data_gives_the_same_episodes():
    sampler = EpisodeSampler(numbered(20), np.arange(20) % 2, 2, 1, 2, steps=2)
    for (images, labels), (equal, ids) in zip(sampler.to_tf_data(), sampler, strict=True):
        np.testing.assert_array_equal(images, equal)
        np.testing.assert_array_equal(labels, ids)


IMPOSSIBLE = {
    "more ways than classes": (dict(ways=4), "`ways` must be at most 3.* Received: ways=4"),
    "one way": (dict(ways=1), "`ways` must be at least 2"),
    "no support": (dict(shots=0), "`shots` must be at least 1"),
    "no queries": (dict(queries=0), "`queries` must be at least 1"),
    "class too small": (
        dict(y=list("aaaaaaabbbbbccc")),
        r"shots \+ queries = 4 examples. 1 of 3 classes .*'c' with 3",
    ),
    "NaN": (dict(x=np.full((15, 2, 3, 1), np.nan)), "holds NaN or infinite"),
    "one axis": (dict(x=np.zeros(15)), r"shape \(examples, ...\).* Received shape \(15,\)"),
    "no examples": (dict(x=np.zeros((0, 4)), y=[]), "at least one"),
    "fewer ids": (dict(y=list("aabb")), "Received 4 ids"),
    "labels": (dict(labels="global"), "`labels` must be one of .*'episode'"),
    "augment": (
        dict(augment=lambda batch, rng: batch[:3]),
        "all 8 rows of the batch in the same order",
    ),
}


@pytest.mark.parametrize(("changes", "message"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_cannot_be_delivered_is_refused(changes, message):
    given_ = dict(x=numbered(15), y=list("aaaaabbbbbccccc"), ways=2, shots=1, queries=3)
    with pytest.raises(ValueError, match=message):
        EpisodeSampler(**given_ | changes)[0]


GROUPS = np.repeat([7, 7, 7, 7, 3, 3, 3, 3, 5, 5], 6)  # groups of ten classes


def grouped(**changes):
    settings = dict(ways=4, shots=1, queries=2, groups=GROUPS, steps=200, seed=3)
    y = np.repeat(np.arange(10), 6)
    return EpisodeSampler(y[:, None].astype("float32"), y, **settings | changes)


def of_episodes(sampler):
    """Returns the set of classes that each episode of a sampler draws."""
    return [set(sampler[i][1].tolist()) for i in range(len(sampler))]


def test_an_episode_takes_one_group_whole_before_the_next():
    result = of_episodes(grouped())
    assert {len(classes) for classes in result} == {4}
    whole = [classes for classes in result if classes in ({0, 1, 2, 3}, {4, 5, 6, 7})]
    rest = [classes for classes in result if classes not in whole]
    assert 100 < len(whole) < 165  # two of three groups hold four classes
    assert all({8, 9} < classes for classes in rest)
    assert all(
        (classes - {8, 9}) < {0, 1, 2, 3} or (classes - {8, 9}) < {4, 5, 6, 7} for classes in rest
    )
    assert len(set(map(frozenset, rest))) == 12  # any two of the other group


def test_a_fraction_of_episodes_draws_from_all_groups():
    plain = of_episodes(grouped(groups=None))
    assert of_episodes(grouped(mixed=1.0)) == plain
    few = of_episodes(grouped())
    result = of_episodes(grouped(mixed=0.3))
    as_few = sum(first == second for first, second in zip(result, few, strict=True))
    as_plain = sum(first == second for first, second in zip(result, plain, strict=True))
    assert 40 <= as_plain <= 80 and as_few + as_plain >= 200
    assert result == of_episodes(grouped(mixed=0.3))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"groups": np.arange(60) % 2},
            r"one group per class\. Class 0 has examples in the groups \[0, 1\]",
        ),
        ({"groups": GROUPS[1:]}, "groups"),
        ({"mixed": 1.5}, "`mixed` must be a fraction"),
        ({"mixed": "half"}, "`mixed` must be a fraction"),
        ({"groups": None, "mixed": 0.5}, "mixed=0.5 without groups"),
    ],
)
def test_groups_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        grouped(**changes)
