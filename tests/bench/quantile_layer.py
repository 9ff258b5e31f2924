"""Compares the quantile layer with PyTorch code that sorts along time and gathers ranks.

python -m tests.bench.quantile_layer --torch /path/to/python
"""

import numpy as np

from tests.bench import smoke, timing
from tests.bench.peer import peer

SIZES = {"batch": 32, "time": 2850, "filters": 64}
KNOTS = 16
SMOKE = {"SIZES": {"batch": 2, "time": 20, "filters": 3}, "KNOTS": 4, "repeats": 5}
ROWS = (
    timing.Row("torch.sort + gather"),
    timing.Row("QuantileLayer, as fit runs it on a CPU", "torch.sort + gather", 1.0),
    timing.Row("QuantileLayer, exportable graph", "torch.sort + gather", 2.5),
)


def layer_step(host_sort):
    """Returns a compiled function that computes the gradient of the sum of the squared outputs."""
    import tensorflow as tf

    from keras_dml.layers import QuantileLayer

    shape = tuple(SIZES.values())
    x = tf.constant(np.random.default_rng(0).normal(size=shape).astype(np.float32))
    layer = QuantileLayer(KNOTS, host_sort=host_sort)
    layer.build(shape)

    @tf.function(autograph=False, input_signature=[tf.TensorSpec((None, None, SIZES["filters"]))])
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = tf.reduce_sum(layer(x, training=True)[:, :-1] ** 2)
        return tape.gradient(value, [x, layer.alpha.value])

    return lambda: [gradient.numpy() for gradient in step(x)]


def main():
    options = timing.parser(__doc__.splitlines()[0], 9)
    timing.add_torch(options)
    arguments = smoke.parse(options, globals(), SMOKE)
    if arguments.cpu_time:
        timing.one_thread()
    sizes = {**SIZES, "ranks": 2 * (KNOTS + 2)}
    with peer(arguments.torch, "sort_gather", arguments.cpu_time, **sizes) as (yardstick, facts):
        runs = {"torch.sort + gather": yardstick} if yardstick else {}
        runs[ROWS[1].name] = timing.timed(layer_step(None), arguments.cpu_time)
        runs[ROWS[2].name] = timing.timed(layer_step(False), arguments.cpu_time)
        seconds = timing.alternate(runs, arguments.repeats)
    timing.show(
        f"Quantile layer {SIZES}, {KNOTS} knots, forward and backward {facts}", ROWS, seconds
    )


if __name__ == "__main__":
    main()
