"""Measures memory and time of a training step with and without `GradCache` (Linux, CPU).

python -m tests.bench.grad_cache --rows 64 256 1024

The script trains the encoder of `gait_qp_npl` on recordings of six channels, with several batch
sizes. The script measures each row of the table in a separate process. The memory is the increase
during the first step on the full batch, including compilation. A step on four rows runs before the
first step. The script then times several further steps, and prints the time of the fastest step in
seconds.
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np

from tests.bench import smoke

CHANNELS = 6


def encoder():
    """Returns the encoder of `gait_qp_npl`."""
    from keras_dml import models

    return models.sequence_encoder(CHANNELS, flatten=True)


def small_encoder():
    """Returns a small encoder that compiles within a second."""
    from keras_dml import layers
    from keras_dml._backend import keras

    return keras.Sequential([keras.Input((None, CHANNELS)), layers.QuantileLayer(3, flatten=True)])


SMOKE = {"encoder": small_encoder, "rows": [8], "steps": 20, "chunk": 4, "repeats": 1}


def trained(rows, steps, chunk, repeats):
    """Measures the memory of a step in megabytes and its time in seconds."""
    from keras_dml import losses, models
    from keras_dml._backend import keras
    from tests.bench.memory import growth_megabytes

    keras.utils.set_random_seed(0)
    model = encoder()
    if chunk:
        model = models.GradCache(model, chunk)
    model.compile("sgd", losses.NPairLoss(scale=10))
    x = np.random.default_rng(0).normal(size=(rows, steps, CHANNELS)).astype("float32")
    y = np.repeat(np.arange(rows // 2), 2)

    def step():
        start = time.perf_counter()
        model.train_on_batch(x, y)
        return time.perf_counter() - start

    model.train_on_batch(x[:4], y[:4])
    megabytes, _ = growth_megabytes(step)
    return megabytes, min(step() for _ in range(repeats))


def in_a_process(rows, steps, chunk, repeats):
    command = [sys.executable, "-m", __spec__.name, "--one", str(chunk)]
    command += ["--rows", str(rows), "--steps", str(steps), "--repeats", str(repeats)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, nargs="+", default=[64, 256, 1024], help="batch sizes")
    options.add_argument("--steps", type=int, default=256, help="steps of a recording")
    options.add_argument("--chunk", type=int, default=32, help="rows that are embedded at once")
    options.add_argument("--repeats", type=int, default=2, help="steps timed")
    options.add_argument("--one", type=int, metavar="CHUNK", help=argparse.SUPPRESS)
    arguments = smoke.parse(options, globals(), SMOKE)
    if arguments.one is not None:
        print(
            json.dumps(
                trained(arguments.rows[0], arguments.steps, arguments.one, arguments.repeats)
            )
        )
        return
    measure = trained if arguments.smoke else in_a_process
    print(f"{'rows':>6} {'MB':>8} {'s':>7} {'MB, chunks of ' + str(arguments.chunk):>20} {'s':>7}")
    for rows in arguments.rows:
        plain, cached = (
            measure(rows, arguments.steps, chunk, arguments.repeats)
            for chunk in (0, arguments.chunk)
        )
        cells = f"{plain[0]:8.0f} {plain[1]:7.2f} {cached[0]:20.0f} {cached[1]:7.2f}"
        print(f"{rows:6} {cells}", flush=True)


if __name__ == "__main__":
    main()
