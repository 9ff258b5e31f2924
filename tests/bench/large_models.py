"""Compares training steps of the largest networks on several devices and on one device.

KERAS_BACKEND=jax python -m tests.bench.large_models          # four virtual devices
KERAS_BACKEND=tensorflow python -m tests.bench.large_models   # two replicas

The tests do not include the largest networks. The networks are so deep that the order of float32
sums changes a training step that starts from random weights. The script prints the two losses and
the difference between the two steps. The difference is given in percent of the length of a step. If
a step used the sum of the losses of the replicas instead of their mean, the difference would be 100
%.
"""

import argparse
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

import numpy as np

from keras_dml import losses, models
from keras_dml._backend import keras
from tests.bench import smoke
from tests.models import family_step

SHAPE = (32, 32, 3)
BUILDS = {"resnet50": models.resnet50, "efficientnet_lite0": models.efficientnet_lite0}
SMOKE = {"BUILDS": {"lenet": models.lenet}}


def of_replicas():
    """Returns a function that takes a case and returns steps on two replicas and on one device."""
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    return lambda case: family_step.of_replicas(case, strategy)


def of_jax_devices(case):
    """Returns the steps on all devices and on one device."""
    expected = family_step.after_a_step(case, family_step.compiled(case))
    devices = keras.distribution.list_devices("cpu")
    keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
    result = family_step.after_a_step(case, family_step.compiled(case))
    keras.distribution.set_distribution(None)
    return {"found": result, "expected": expected}


def flat(weights):
    """Returns all weights as one float64 vector."""
    return np.concatenate([np.ravel(weight) for weight in weights]).astype(np.float64)


def main():
    """Prints a line for each network."""
    smoke.parse(argparse.ArgumentParser(description=__doc__.splitlines()[0]), globals(), SMOKE)
    steps = of_jax_devices if keras.backend.backend() == "jax" else of_replicas()
    for name, build in BUILDS.items():
        case = family_step.Case(
            lambda build=build: build(SHAPE), losses.NPairLoss, SHAPE, pairs=True
        )
        results = steps(case)
        start = flat(family_step.lists(family_step.compiled(case).trainable_weights))
        result, expected = (flat(results[key]["trained"]) - start for key in ("found", "expected"))
        difference = np.linalg.norm(result - expected) / np.linalg.norm(expected)
        print(
            f"{name}: loss {results['found']['loss']:.6f}, on one device "
            f"{results['expected']['loss']:.6f}; steps {100 * difference:.2g} % apart",
            flush=True,
        )


if __name__ == "__main__":
    main()
