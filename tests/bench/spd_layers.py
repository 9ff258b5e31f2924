"""Compares the times of SPD layers and distances with spd_learn, and the times of two solvers.

python -m tests.bench.spd_layers --torch /path/to/python

The script measures the forward and backward passes of BiMap, ReEig, LogEig and affine-invariant
distances. With KERAS_BACKEND=jax, the script measures only the networks. For small matrices, JAX is
faster, because TensorFlow needs as much time to wake threads as to compute eigendecompositions. For
large matrices, JAX is slower, because TensorFlow distributes the matrices over its threads.
"""

import os
import pathlib
import tempfile

import numpy as np

from tests.bench import smoke, timing
from tests.bench.peer import peer

BATCH, EPSILON = 64, 1e-4
NETWORKS = ((20, 10), (64, 32), (93, 80), (93, 80, 40, 20))
SMOKE = {"NETWORKS": ((6, 3),), "BATCH": 4, "steps": 1, "repeats": 5}
RANK = 30  # rank of the singular matrices, as for clips with fewer steps than channels
PEER, OURS, SINGULAR = "spd_learn", "spdnet", "spdnet, singular matrices"
DISTANCES = (10, 20, 40)  # sizes of the matrices
REFERENCES = 16  # one reference per class, as in the potato ranking loss
ROWS = (timing.Row(PEER), timing.Row(OURS, PEER, 0.6), timing.Row(SINGULAR, PEER, 0.6))
DISTANCE = "affine_invariant_pairwise, float64 inside"
IN_FLOAT64 = "spd_learn, float64"
DISTANCE_ROWS = (
    timing.Row(PEER),
    timing.Row(IN_FLOAT64, PEER),
    timing.Row(DISTANCE, PEER, 0.6),
)
EIGH, POLYNOMIAL = "eigh", "polynomial"
SOLVERS = (timing.Row(EIGH), timing.Row(POLYNOMIAL, EIGH))
EAGER, DEVICE = "tf.function, eigh", "LiteRT, polynomial, one thread"
DEVICES = (timing.Row(EAGER), timing.Row(DEVICE, EAGER, 1.0))


def covariances(n, batch, steps):
    x = np.random.default_rng(0).normal(size=(batch, steps, n))
    return (np.swapaxes(x, 1, 2) @ x / steps).astype(np.float32)


def training_step(sizes, steps, solver="eigh"):
    """Returns a compiled function that computes the gradient of the squared embeddings with respect
    to the kernels.
    """
    from keras_dml._backend import keras
    from keras_dml.models import spdnet

    model = spdnet(sizes, epsilon=EPSILON, solver=solver)
    kernels = [weight.value for weight in model.trainable_weights]
    x = covariances(sizes[0], BATCH, steps)
    step = on_jax if keras.backend.backend() == "jax" else on_tensorflow
    return step(model, kernels, x)


def on_jax(model, kernels, x):
    import jax

    def value(kernels, x):
        return (model.stateless_call(kernels, [], x, training=True)[0] ** 2).sum()

    step, x = jax.jit(jax.grad(value)), jax.numpy.asarray(x)
    return lambda: jax.device_get(step(kernels, x))


def on_tensorflow(model, kernels, x):
    import tensorflow as tf

    x = tf.constant(x)

    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            value = tf.reduce_sum(tf.square(model(x, training=True)))
        return tape.gradient(value, kernels)

    return lambda: [gradient.numpy() for gradient in step(x)]


def against_spd_learn(given, sizes):
    name = " -> ".join(map(str, sizes))
    arguments = {"sizes": sizes, "batch": BATCH, "epsilon": EPSILON}
    task, kind, often = "spd_network", given.cpu_time, given.steps
    with peer(given.torch, task, kind, often, **arguments) as (yardstick, facts):
        runs = {PEER: yardstick} if yardstick else {}
        for row, steps in ((OURS, 3 * sizes[0]), (SINGULAR, min(RANK, sizes[0] // 2))):
            runs[row] = timing.timed(training_step(sizes, steps), kind, often)
        seconds = timing.alternate(runs, given.repeats)
    title = f"{name}, {BATCH} matrices, forward and backward, {often} steps a round {facts}"
    timing.show(title, ROWS, seconds)


def distance_step(n):
    """Returns a compiled function that computes the gradient of squared distances to reference
    matrices.
    """
    from keras_dml._backend import keras
    from keras_dml.geometry import spd

    x = covariances(n, REFERENCES + BATCH, 3 * n)
    x, y = x[:REFERENCES], x[REFERENCES:]
    if keras.backend.backend() == "jax":
        import jax

        value = lambda x, y: (spd.affine_invariant_pairwise(x, y) ** 2).sum()  # noqa: E731
        step = jax.jit(jax.grad(value, argnums=(0, 1)))
        return lambda: jax.device_get(step(x, y))
    import tensorflow as tf

    x, y = tf.constant(x), tf.constant(y)

    @tf.function(autograph=False)
    def step(x, y):
        with tf.GradientTape() as tape:
            tape.watch((x, y))
            value = tf.reduce_sum(tf.square(spd.affine_invariant_pairwise(x, y)))
        return tape.gradient(value, (x, y))

    return lambda: [gradient.numpy() for gradient in step(x, y)]


def distances_against_spd_learn(given, n):
    arguments = {"n": n, "references": REFERENCES, "batch": BATCH}
    task, kind, often = "spd_distances", given.cpu_time, given.steps
    with (
        peer(given.torch, task, kind, often, dtype="float32", **arguments) as (yardstick, facts),
        peer(given.torch, task, kind, often, dtype="float64", **arguments) as (precise, _),
    ):
        runs = {PEER: yardstick, IN_FLOAT64: precise} if yardstick else {}
        runs[DISTANCE] = timing.timed(distance_step(n), kind, often)
        seconds = timing.alternate(runs, given.repeats)
    title = f"{REFERENCES} x {BATCH} distances of {n} x {n} matrices, forward and backward {facts}"
    timing.show(title, DISTANCE_ROWS, seconds)


def solvers(given, sizes):
    name = " -> ".join(map(str, sizes))
    runs = {
        solver: timing.timed(
            training_step(sizes, 3 * sizes[0], solver), given.cpu_time, given.steps
        )
        for solver in (EIGH, POLYNOMIAL)
    }
    title = f"{name}, {BATCH} matrices, forward and backward by solver"
    timing.show(title, SOLVERS, timing.alternate(runs, given.repeats))


def devices(given, sizes):
    """Measures the time for a single matrix, which is the usual case on a device."""
    import tensorflow as tf
    from ai_edge_litert.interpreter import Interpreter

    from keras_dml import export, models

    model = models.spdnet(sizes, epsilon=EPSILON)
    x = covariances(sizes[0], 1, 3 * sizes[0])
    with tempfile.TemporaryDirectory() as folder:
        made = export.tflite(model, pathlib.Path(folder, "model.tflite"))
        file = Interpreter(model_path=str(made.path), num_threads=1)
    embed = file.get_signature_runner("embed")
    call = tf.function(lambda x: model(x, training=False), autograph=False)
    tensor = tf.constant(x)
    runs = {
        EAGER: timing.timed(lambda: call(tensor).numpy(), given.cpu_time, given.steps),
        DEVICE: timing.timed(lambda: embed(matrix=x), given.cpu_time, given.steps),
    }
    title = f"{' -> '.join(map(str, sizes))}, one matrix; {made.bytes / 1000:.0f} kB, drift "
    timing.show(f"{title}{made.drift:.1e}", DEVICES, timing.alternate(runs, given.repeats))


def main():
    options = timing.parser(__doc__.splitlines()[0], 13)
    timing.add_torch(options)
    timing.add_steps(options)
    arguments = smoke.parse(options, globals(), SMOKE)
    jax = os.environ.get("KERAS_BACKEND") == "jax"
    if jax and arguments.cpu_time:
        options.error("one thread is measured with TensorFlow only")
    if arguments.cpu_time:
        timing.one_thread()
    for sizes in NETWORKS:
        against_spd_learn(arguments, sizes)
    for n in DISTANCES:
        distances_against_spd_learn(arguments, n)
    if jax:
        return
    for sizes in NETWORKS:
        solvers(arguments, sizes)
    devices(arguments, NETWORKS[-1])


if __name__ == "__main__":
    main()
