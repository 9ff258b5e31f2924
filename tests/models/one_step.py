"""Takes one step of gradient descent, for the scripts that train on several devices."""

import json

import numpy as np

from keras_dml._backend import keras
from keras_dml.layers import MaskedConv1D, QuantileLayer
from keras_dml.losses import NPairLoss, WassersteinLoss

RATE, TIME, CHANNELS, PAIRS = 0.5, 12, 2, 4
LOSSES = {"QP-WL": WassersteinLoss, "QP-NPL": NPairLoss}


def batch():
    """Draws a batch in which rows `2 i` and `2 i + 1` are a pair, as in batches of the samplers."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(2 * PAIRS, TIME, CHANNELS)).astype("float32")
    return x, np.repeat(np.arange(PAIRS), 2).astype("int32")


def network(method):
    keras.utils.set_random_seed(6)
    net = keras.Sequential(
        [
            keras.Input((TIME, CHANNELS)),
            MaskedConv1D(3, 3),
            keras.layers.PReLU(shared_axes=[1]),
            QuantileLayer(3, flatten=method == "QP-NPL"),
        ]
    )
    net.compile(keras.optimizers.SGD(RATE), LOSSES[method]())
    return net


def after_fit(net, x, y):
    """Returns the weights and the reported loss after one step on the whole batch."""
    history = net.fit(x, y, batch_size=len(x), shuffle=False, verbose=0).history["loss"]
    return [weight.tolist() for weight in net.get_weights()], history[0]


def report(**results):
    """Prints the results as the last line of the script."""
    print(json.dumps(results))
