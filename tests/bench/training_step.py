"""Compares the time of the gait model's training step with the same step in plain PyTorch.

python -m tests.bench.training_step --torch /path/to/python
"""

import numpy as np

from tests.bench import smoke, timing
from tests.bench.peer import peer

PAIRS, TIME, CHANNELS, KNOTS = 32, 512, 6, 16
SMOKE = {"PAIRS": 2, "TIME": 20, "repeats": 5}
TORCH, OURS = "PyTorch", "train_on_batch"
ROWS = (timing.Row(TORCH), timing.Row(OURS, TORCH, 1.2))


def compiled_model():
    """Returns the gait model, compiled with its loss and Adam."""
    import keras

    from keras_dml.losses import WassersteinLoss
    from keras_dml.models import sequence_encoder
    from zoo.gait_qp_wl.train import Settings

    model = sequence_encoder(CHANNELS, knots=KNOTS, halve_every=Settings().halve_every)
    model.compile(keras.optimizers.Adam(), WassersteinLoss())
    return model


def step(model):
    """Returns a function that calls `train_on_batch`, which takes the same step as `fit`."""
    x = np.random.default_rng(0).normal(size=(2 * PAIRS, TIME, CHANNELS)).astype(np.float32)
    labels = np.repeat(np.arange(PAIRS), 2)
    return lambda: model.train_on_batch(x, labels)


def architecture():
    """Returns the widths of the convolutions, and the numbers of the convolutions before which the
    sequence is halved.
    """
    from keras_dml.models.sequence_encoder import HALVINGS, SIZES
    from zoo.gait_qp_wl.train import Settings

    every = Settings().halve_every
    halving_before = [every * (i + 1) for i in range(HALVINGS["edge"])]
    return {"widths": SIZES["edge"], "halving_before": halving_before}


def main():
    options = timing.parser(__doc__.splitlines()[0], 15)
    timing.add_torch(options)
    arguments = smoke.parse(options, globals(), SMOKE)
    if arguments.cpu_time:
        timing.one_thread()
    model = compiled_model()
    trainable = sum(int(np.prod(w.shape)) for w in model.trainable_weights)
    sizes = {"pairs": PAIRS, "time": TIME, "channels": CHANNELS, "knots": KNOTS, **architecture()}
    with peer(arguments.torch, "training_step", arguments.cpu_time, **sizes) as (yardstick, facts):
        if facts and facts["parameters"] != trainable:
            counts = f"{trainable} parameters here, {facts['parameters']} in PyTorch"
            raise RuntimeError(f"The networks differ: {counts}.")
        runs = {TORCH: yardstick} if yardstick else {}
        runs[OURS] = timing.timed(step(model), arguments.cpu_time)
        seconds = timing.alternate(runs, arguments.repeats)
    timing.show(f"Training step, {PAIRS} pairs of {TIME} x {CHANNELS}, Adam {facts}", ROWS, seconds)


if __name__ == "__main__":
    main()
