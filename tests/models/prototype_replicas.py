"""Prints a step of a prototypical classifier on several devices and on one; run by
`test_prototypical_classifier.py`."""

import json

import numpy as np

from keras_dml import models
from keras_dml._backend import keras

CLASSES, RATE = 3, 0.1


def batch():
    """Unequal counts of a class on the two halves, and a class that comes on one of them only."""
    x = np.random.default_rng(6).normal(size=(8, 4)).astype("float32")
    return x, np.array([0, 0, 0, 1, 0, 1, 1, 2])


def classifier():
    keras.utils.set_random_seed(2)
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="tanh")])
    model = models.PrototypicalClassifier(encoder, CLASSES, hidden=5, dropout=0.0)
    model.compile(keras.optimizers.SGD(RATE))
    return model


def arrays(weights):
    return [np.asarray(keras.ops.convert_to_numpy(weight)).tolist() for weight in weights]


def after_a_step(model):
    """What is trained, the prototypes and visits, and the loss that is told."""
    x, y = batch()
    told = model.fit(x, y, batch_size=len(x), shuffle=False, verbose=0).history
    head = model.prototypes_layer
    return arrays(model.trainable_weights), arrays([head.prototypes, head.visits]), told


def averaging_step(model):
    """One device: prototypes move by the whole batch, then a step down the mean of the halves'
    losses."""
    import tensorflow as tf

    x, y = batch()
    model.prototypes_layer.update(model.embed(x), tf.constant(y, tf.int32))
    half = len(x) // 2
    with tf.GradientTape() as tape:
        terms = [
            model.terms(model.embed(x[part]), tf.constant(y[part]))
            for part in (slice(half), slice(half, None))
        ]
        loss = sum(sum(one[:3]) for one in terms) / 2
    gradients = tape.gradient(loss, model.trainable_weights)
    for weight, gradient in zip(model.trainable_weights, gradients, strict=True):
        weight.assign_sub(RATE * gradient)
    return arrays(model.trainable_weights), {"loss": [float(loss)]}


def on_tensorflow():
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        several = classifier()
    found = after_a_step(several)
    _, state, _ = after_a_step(classifier())
    trained, told = averaging_step(classifier())
    return strategy.num_replicas_in_sync, found, (trained, state, told)


def on_jax():
    expected = after_a_step(classifier())
    devices = keras.distribution.list_devices("cpu")
    keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
    return len(devices), after_a_step(classifier()), expected


def main():
    run = on_jax if keras.backend.backend() == "jax" else on_tensorflow
    devices, found, expected = run()
    print(json.dumps({"devices": devices, "found": found, "expected": expected}))


if __name__ == "__main__":
    main()
