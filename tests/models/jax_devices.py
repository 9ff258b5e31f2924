"""Prints one step on four devices and on one; run by `test_distribution.py`."""

import numpy as np

from keras_dml._backend import keras
from tests.models.one_step import LOSSES, after_fit, batch, network, report


def main():
    x, y = batch()
    order = np.random.default_rng(9).permutation(len(y))  # pairs lie on different devices
    x, y = x[order], y[order]
    one_device = {method: after_fit(network(method), x, y) for method in LOSSES}
    devices = keras.distribution.list_devices("cpu")
    keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
    report(
        devices=len(devices),
        found={method: after_fit(network(method), x, y) for method in LOSSES},
        expected=one_device,
    )


if __name__ == "__main__":
    main()
