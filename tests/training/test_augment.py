import numpy as np
import pytest

from keras_dml.training import augment


def test_a_turned_sensor_measures_the_same_lengths_in_both_triplets(rng):
    batch = rng.normal(size=(4, 50, 6))
    turned = augment.rotate(batch, rng, 90, (0, 3))
    for first in (0, 3):
        lengths = np.linalg.norm(batch[..., first : first + 3], axis=-1)
        np.testing.assert_allclose(np.linalg.norm(turned[..., first : first + 3], axis=-1), lengths)
    assert not np.allclose(turned, batch)


def test_no_degrees_no_turn(rng):
    batch = rng.normal(size=(2, 9, 6))
    np.testing.assert_allclose(augment.rotate(batch, rng, 0, (0, 3)), batch)


def test_both_rows_of_a_pair_are_mixed_alike_and_pairs_differ(rng):
    row = rng.normal(size=(1, 20, 5))
    mixed = augment.mix_channels(np.repeat(row, 4, axis=0), rng, 0.5)
    np.testing.assert_allclose(mixed[0], mixed[1])
    np.testing.assert_allclose(mixed[2], mixed[3])
    assert not np.allclose(mixed[0], mixed[2])
    together = augment.mix_channels(np.repeat(row, 4, axis=0), rng, 0.5, together=1)
    np.testing.assert_allclose(together, together[:1].repeat(4, axis=0))


def test_gain_and_noise_stay_in_their_bounds(rng):
    ones = np.ones((200, 30, 4))
    gains = augment.scale(ones, rng, 0.2)
    assert gains.min() >= 0.8 and gains.max() <= 1.2 and np.ptp(gains, axis=1).max() == 0
    assert np.std(augment.add_noise(ones, rng, 0.5)) == pytest.approx(0.5, rel=0.02)


def test_a_pair_is_filtered_alike_and_a_rotation_before_is_one_after(rng):
    batch = np.repeat(rng.normal(size=(3, 40, 3)), 2, axis=0) + 9.0
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    found = augment.filter_pairs(batch, np.random.default_rng(5), 0.3)
    np.testing.assert_allclose(found[::2], found[1::2], rtol=0, atol=1e-12)
    assert np.abs(found - batch).max() > 0.1
    other = augment.filter_pairs(batch @ turn, np.random.default_rng(5), 0.3)
    np.testing.assert_allclose(other, found @ turn, rtol=0, atol=1e-9)
    still = augment.filter_pairs(np.full((2, 9, 3), 9.81), rng, 0.3)
    np.testing.assert_allclose(still, 9.81, rtol=1e-9)
