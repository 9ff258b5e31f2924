"""A step of a prototypical classifier on several devices and on one."""

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


def on_replicas(strategy):
    """What two replicas find, and what they must."""
    with strategy.scope():
        several = classifier()
    found = after_a_step(several)
    _, state, _ = after_a_step(classifier())
    trained, told = averaging_step(classifier())
    return {"found": found, "expected": (trained, state, told)}
