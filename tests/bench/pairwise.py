"""Compares how long pairwise 1-Wasserstein distances and weighted L1 distances take.

python -m tests.bench.pairwise --torch /path/to/python
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.bench import smoke, timing
from tests.bench.peer import peer

SIZES = {"n": 256, "filters": 64, "knots": 18}
SMOKE = {"SIZES": {"n": 4, "filters": 3, "knots": 5}, "repeats": 5}
MEMORY_BOUND_MB = 200
TENSORFLOW, TORCH = "weighted L1, TensorFlow", "weighted L1, torch.cdist"
OURS = "wasserstein.pairwise"
ROWS = (
    timing.Row(TENSORFLOW),
    timing.Row(TORCH),
    timing.Row(OURS, TENSORFLOW, 3.0),
    timing.Row(OURS, TORCH, 3.0),
)


def arrays(n, filters, knots):
    """Draws two float32 sets of quantile functions, and their knots."""
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.normal(size=(2, n, filters, knots)), axis=-1).astype(np.float32)
    return x, y, np.linspace(0, 1, knots, dtype=np.float32)


def gradient_step(table, *tensors):
    """Returns a compiled function for the gradients of the sum of squared distances."""
    import tensorflow as tf

    tensors = [tf.constant(tensor) for tensor in tensors]

    @tf.function(autograph=False)
    def step(*tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            value = tf.reduce_sum(table(*tensors) ** 2)
        return tape.gradient(value, tensors)

    return lambda: [gradient.numpy() for gradient in step(*tensors)]


def ours(sizes):
    """Computes all distances with keras-dml, and their gradients with respect to the two sets and
    the knots.
    """
    from keras_dml.geometry.quantile import wasserstein

    return gradient_step(wasserstein.pairwise, *arrays(**sizes))


def weighted_l1(sizes):
    """Computes all weighted L1 distances by broadcasting, and their gradients with respect to the
    two sets.
    """
    from keras_dml._backend import ops
    from keras_dml.geometry.quantile import wasserstein

    x, y, knots = arrays(**sizes)
    weights = wasserstein.trapezoid_weights(ops.convert_to_tensor(knots))

    def table(x, y):
        return ops.sum(ops.abs(x[:, None] - y[None]) * weights, axis=(2, 3))

    return gradient_step(table, x, y)


def peak_megabytes():
    """Measures by how much one call raises the maximum resident size. Call the function in a fresh
    process.
    """
    ours({**SIZES, "n": 32})()  # loads code and starts threads
    step = ours(SIZES)
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins anew
    before = _resident("VmRSS")
    step()
    return (_resident("VmHWM") - before) / 1024


def _resident(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1])


def main():
    options = timing.parser(__doc__.splitlines()[0], 9)
    timing.add_torch(options)
    options.add_argument("--memory-only", action="store_true", help="print the peak in MB and end")
    arguments = smoke.parse(options, globals(), SMOKE)
    if arguments.memory_only:
        print(peak_megabytes())
        return
    if arguments.cpu_time:
        timing.one_thread()
    with peer(arguments.torch, "pairwise", arguments.cpu_time, **SIZES) as (yardstick, facts):
        runs = {TENSORFLOW: timing.timed(weighted_l1(SIZES), arguments.cpu_time)}
        if yardstick:
            runs[TORCH] = yardstick
        runs[OURS] = timing.timed(ours(SIZES), arguments.cpu_time)
        seconds = timing.alternate(runs, arguments.repeats)
    timing.show(f"Pairwise distances {SIZES}, forward and backward {facts}", ROWS, seconds)
    if arguments.smoke:
        peak = peak_megabytes()
    else:
        command = [sys.executable, "-m", "tests.bench.pairwise", "--memory-only"]
        peak = float(subprocess.check_output(command, text=True))
    print(f"peak extra memory {peak:.0f} MB; bound {MEMORY_BOUND_MB} MB: ", end="")
    print(timing.verdict(peak, MEMORY_BOUND_MB))


if __name__ == "__main__":
    main()
