"""Prints training steps on two replicas and the expected steps, for `test_distribution.py`."""

import tensorflow as tf

from keras_dml._backend import keras
from keras_dml.samplers import NPairSampler
from tests import quick
from tests.models import family_step, prototype_step
from tests.models.one_step import LOSSES, RATE, after_fit, batch, network, report


def averaging_step(method, x, y):
    """Takes a step on one device. The loss is the mean of the losses of the two halves of the
    batch.
    """
    net = network(method)
    loss, half = LOSSES[method](), len(x) // 2
    with tf.GradientTape() as tape:
        losses = [
            loss(y[part], net(x[part], training=True)) for part in (slice(half), slice(half, None))
        ]
        value = (losses[0] + losses[1]) / 2
    gradients = tape.gradient(value, net.trainable_weights)
    weights = [
        weight - RATE * gradient
        for weight, gradient in zip(net.trainable_weights, gradients, strict=True)
    ]
    return [weight.numpy().tolist() for weight in weights], float(value)


def dropped(strategy):
    """Returns the output of dropout on each replica, for an input of ones."""
    with strategy.scope():
        layer = keras.layers.Dropout(0.5, seed=1)
    actual = strategy.run(lambda: layer(tf.ones((4, 8)), training=True))
    return [item.numpy().tolist() for item in strategy.experimental_local_results(actual)]


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    x, y = batch()
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    results = {"replicas": strategy.num_replicas_in_sync}
    for method in LOSSES:
        with strategy.scope():
            replicas = network(method)
        results[method] = {
            "found": after_fit(replicas, x, y),
            "expected": averaging_step(method, x, y),
            "one_device": after_fit(network(method), x, y),
        }
    sampler = NPairSampler(x, y, pairs=len(y) // 2, steps=3)
    with strategy.scope():
        net = network("QP-WL")
    results["sampler"] = net.fit(sampler, epochs=2, verbose=0).history["loss"]
    results["prototypes"] = prototype_step.on_replicas(strategy)
    results["family"] = family_step.on_replicas(strategy)
    results["dropped"] = dropped(strategy)
    report(**results)


if __name__ == "__main__":
    quick.after_imports()
    main()
