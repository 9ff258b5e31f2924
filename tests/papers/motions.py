"""Covariance matrices of synthetic motions, and settings of an experiment that takes seconds."""

import contextlib

import numpy as np

from zoo.papers.potato.settings import ALL_CLIPS, Settings

SETTINGS = Settings(
    seeds=2,
    people=2,
    training_matrices=30,
    stops=2,
    learning_rates=(3e-3,),
    sizes=(4, 3, 2),
    methods=("Proxy NCA",),
    batch_classes=(2, 3),
    weights=(0.1, 1.0),
    calibration_clips=(2, ALL_CLIPS),
)


@contextlib.contextmanager
def eager_functions():
    """Runs TensorFlow functions eagerly, because compiling them takes longer than a few steps."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def motions(people="abcd", classes=("hop", "jog", "sit"), takes=3):
    """Returns matrices `(clips, 4, 4)` of well separated classes, and their classes and people."""
    rng = np.random.default_rng(7)
    matrices, names, actors = [], [], []
    for number, name in enumerate(classes):
        turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        for person in people:
            for _ in range(takes):
                logs = 0.3 * rng.normal(size=4) + np.roll([2.0, 0.0, -1.0, -2.0], number)
                matrices.append(turn @ np.diag(np.exp(logs)) @ turn.T)
                names.append(name)
                actors.append(person)
    return np.stack(matrices), np.array(names), np.array(actors)
