"""Takes steps of a prototypical classifier and of adversarial training on several devices."""

import numpy as np

from keras_dml import models
from keras_dml._backend import keras, ops

CLASSES, RATE = 3, 0.1


def batch():
    """Draws a batch whose two halves have different numbers of rows per class.

    One half has no rows of one of the classes.
    """
    x = np.random.default_rng(6).random(size=(8, 4)).astype("float32")
    return x, np.array([0, 0, 0, 1, 0, 1, 1, 2])


def classifier(compiled=True):
    keras.utils.set_random_seed(2)
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="tanh")])
    model = models.PrototypicalClassifier(encoder, CLASSES, hidden=5, dropout=0.0)
    if compiled:
        model.compile(keras.optimizers.SGD(RATE))
    return model


def attacked():
    model = models.AdversarialTraining(classifier(compiled=False), epsilon=0.1, steps=2, seed=3)
    model.compile(keras.optimizers.SGD(RATE))
    return model


BUILDS = {"prototypes": classifier, "attacked prototypes": attacked}


def arrays(weights):
    return [np.asarray(keras.ops.convert_to_numpy(weight)).tolist() for weight in weights]


def result(model, told):
    """Returns the trainable weights, the prototypes with their numbers of visits, and the reported
    loss.
    """
    head = getattr(model, "classifier", model).prototypes_layer
    return arrays(model.trainable_weights), arrays([head.prototypes, head.visits]), told


def after_a_step(model):
    x, y = batch()
    return result(model, model.fit(x, y, batch_size=len(x), shuffle=False, verbose=0).history)


def averaging_step(model):
    """Takes a step on one device. The loss is the mean of the losses of the two halves of the
    batch.

    The rows of the whole batch update the prototypes.
    """
    import tensorflow as tf

    x, y = batch()
    inner, half = getattr(model, "classifier", model), len(x) // 2
    parts = [_joined(model, x[rows], y[rows]) for rows in (slice(half), slice(half, None))]
    labels = [ops.cast(y, "int32") for _, y in parts]
    together = ops.concatenate([inner.embed(x) for x, _ in parts])
    inner.prototypes_layer.update(together, ops.concatenate(labels))
    with tf.GradientTape() as tape:
        terms = [inner.terms(inner.embed(x), y) for (x, _), y in zip(parts, labels, strict=True)]
        loss = sum(sum(term[:3]) for term in terms) / 2
    gradients = tape.gradient(loss, model.trainable_weights)
    model.optimizer.apply(gradients, model.trainable_weights)
    return result(model, {"loss": [float(loss)]})


def _joined(model, x, y):
    """Returns the inputs and labels of the first training step of a replica."""
    if not isinstance(model, models.AdversarialTraining):
        return x, y
    model.steps_taken.assign(0)
    return model._join((x, y))


def on_devices():
    """Returns a dict that maps the name of each model to the state after a step on all devices."""
    return {name: after_a_step(build()) for name, build in BUILDS.items()}


def on_replicas(strategy):
    """Returns the states after a step on two replicas, the expected states, and the states after a
    step on one device."""
    results = {}
    for name, build in BUILDS.items():
        with strategy.scope():
            replicated = build()
        results[name] = {
            "found": after_a_step(replicated),
            "expected": averaging_step(build()),
            "one_device": after_a_step(build()),
        }
    return results
