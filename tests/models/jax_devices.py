"""Prints training steps on four devices and on one device, for `test_distribution.py`."""

import numpy as np

from keras_dml._backend import keras
from tests import quick
from tests.models import family_step, prototype_step
from tests.models.one_step import LOSSES, after_fit, batch, network, report


def steps(x, y):
    """Returns the states after a training step of each method, loss and model."""
    return {
        "pairs": {method: after_fit(network(method), x, y) for method in LOSSES},
        "prototypes": prototype_step.on_devices(),
        "family": family_step.on_devices(),
    }


def main():
    x, y = batch()
    order = np.random.default_rng(9).permutation(len(y))  # puts rows of pairs on different devices
    x, y = x[order], y[order]
    one_device = steps(x, y)
    devices = keras.distribution.list_devices("cpu")
    keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
    report(devices=len(devices), found=steps(x, y), expected=one_device)


if __name__ == "__main__":
    quick.share_mlir_context()
    quick.after_imports()
    main()
