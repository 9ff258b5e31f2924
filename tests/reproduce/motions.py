"""Covariance matrices of made-up motions, and an experiment on them that takes seconds."""

import contextlib

import numpy as np

from keras_dml.reproduce.potato import plan

SIZES = (4, 3, 2)
METHODS = ("Proxy NCA", "RPL")
SCALE = plan.Scale(
    seeds=2,
    people=2,
    seen=30,
    stops=2,
    learning_rates=(3e-3,),
    batch_classes=(2, 3),
    weights=(0.1, 1.0),
    samples=(2, plan.SAMPLES),
)


@contextlib.contextmanager
def step_by_step():
    """So few steps are sooner done than compiled."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def motions(people="abcd", classes=("hop", "jog", "sit"), takes=3):
    """Matrices `(clips, 4, 4)`, the class and the person of each; classes are far apart."""
    rng = np.random.default_rng(7)
    matrices, names, movers = [], [], []
    for place, name in enumerate(classes):
        turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        for person in people:
            for _ in range(takes):
                logs = 0.3 * rng.normal(size=4) + np.roll([2.0, 0.0, -1.0, -2.0], place)
                matrices.append(turn @ np.diag(np.exp(logs)) @ turn.T)
                names.append(name)
                movers.append(person)
    return np.stack(matrices), np.array(names), np.array(movers)
