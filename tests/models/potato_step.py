"""Potatoes after a step on two replicas and on one device."""

import numpy as np

from keras_dml import losses, models
from keras_dml._backend import keras

CLASSES, N = 2, 4


def batch():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(12, 30, N))
    return (np.swapaxes(x, 1, 2) @ x / 30).astype("float32"), np.arange(12) % CLASSES


def after_a_step():
    keras.utils.set_random_seed(2)
    x, y = batch()
    network = models.PotatoNetwork(models.spdnet((N, 2), output="spd"), CLASSES, update_rate=0.1)
    network.calibrate(x, y)
    network.compile(keras.optimizers.SGD(0.1), losses.PotatoRankingLoss(0.5))
    network.fit(x, y, batch_size=len(x), shuffle=False, verbose=0)
    return [weight.numpy().tolist() for weight in network.potatoes.weights]


def on_replicas(strategy):
    """What two replicas find, and what they must."""
    with strategy.scope():
        found = after_a_step()
    return {"found": found, "expected": after_a_step()}
