"""Prints steps on four devices and on one; run by `test_distribution.py`."""

import numpy as np

from keras_dml._backend import keras
from tests.models import prototype_step
from tests.models.one_step import LOSSES, after_fit, batch, network, report


def steps(x, y):
    """By method what a step leaves, and a step of a classifier."""
    found = {method: after_fit(network(method), x, y) for method in LOSSES}
    return {**found, "prototypes": prototype_step.after_a_step(prototype_step.classifier())}


def main():
    x, y = batch()
    order = np.random.default_rng(9).permutation(len(y))  # pairs lie on different devices
    x, y = x[order], y[order]
    one_device = steps(x, y)
    devices = keras.distribution.list_devices("cpu")
    keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
    report(devices=len(devices), found=steps(x, y), expected=one_device)


if __name__ == "__main__":
    main()
