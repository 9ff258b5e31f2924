"""Reads walks that the accelerometer and the gyroscope of a phone in the pocket recorded. The walks
are of the same people and runs as the walks of `zoo.watch`.
"""

import numpy as np

from keras_dml.layers import GravityFrame
from keras_dml.training import People
from zoo import phone, watch

LAG = 6  # steps by which the vertical is compared with the horizontal: 0.12 s
TURN_SEED = 0


def walks(splits=watch.KNOWN + watch.UNSEEN):
    """Returns accelerations and angular rates of the phone, see `watch.walks`."""
    return watch.walks(splits, watch.PHONE, watch.ACCELERATION_AND_RATES)


def examples(split):
    """Returns the walks in a split, and the people who recorded them, see `watch.examples`."""
    walkers = walks(watch.KNOWN if split == "train" else watch.UNSEEN)
    return walkers.signals, walkers.subjects


def turned(walkers, seed=TURN_SEED):
    """Rotates each walk by a uniformly random rotation, which simulates another orientation of the
    phone. The accelerations and the angular rates are rotated in the same way.

    Args:
        walkers: Result of `walks`.
        seed: Seed of the rotations.
    """
    rotated = []
    for number, signal in enumerate(walkers.signals):
        sensors = np.split(signal, signal.shape[1] // 3, axis=1)
        parts = [
            phone.turned(sensor[None], np.random.default_rng((seed, number)))[0]
            for sensor in sensors
        ]
        rotated.append(np.concatenate(parts, axis=1))
    return People(rotated, walkers.subjects, walkers.sessions)


def front(horizontal):
    """Returns a list with a layer `GravityFrame`, which is set up for the rate of the walks."""
    return [GravityFrame(horizontal, lag=LAG, name="gravity_frame")]
