"""Training with a warm-up and a cosine decay, which can be stopped and resumed."""

import dataclasses
import time
from typing import NamedTuple

from keras_dml._backend import keras
from keras_dml.training._checkpoint import Checkpoint
from keras_dml.training._progress import ProgressLine

END = 0.01  # last learning rate, as a fraction of the largest


@dataclasses.dataclass(frozen=True)
class Optimization:
    """Adam, whose learning rate rises linearly and then falls by a cosine.

    Attributes:
        learning_rate: Largest learning rate, at the end of the warm-up.
        warm_up: Steps of the warm-up.
        start: Learning rate of the first step, as a fraction of `learning_rate`.
        weight_decay: Decoupled weight decay (AdamW); None for none.
        clip_norm: Largest norm of the gradient of all weights together; None for no clipping.
        average: Momentum of the moving average of the weights, which replaces them when training
            ends; None for no averaging.

    Example:
        >>> schedule = Optimization(1e-2, warm_up=10).schedule(100)
        >>> [round(float(schedule(step)), 4) for step in (0, 10, 100)]
        [0.001, 0.01, 0.0001]
    """

    learning_rate: float
    warm_up: int
    start: float = 0.1
    weight_decay: float | None = None
    clip_norm: float | None = None
    average: float | None = None

    def schedule(self, steps):
        """The learning rate over a training of that many steps."""
        return keras.optimizers.schedules.CosineDecay(
            self.start * self.learning_rate,
            max(1, steps - self.warm_up),
            alpha=END,
            warmup_target=self.learning_rate,
            warmup_steps=self.warm_up,
        )

    def optimizer(self, steps):
        """A new optimizer for a training of that many steps."""
        averaged = {"use_ema": True, "ema_momentum": self.average} if self.average else {}
        return keras.optimizers.Adam(
            self.schedule(steps),
            weight_decay=self.weight_decay,
            global_clipnorm=self.clip_norm,
            **averaged,
        )


class Fitted(NamedTuple):
    """Duration and history of a training, with those of the runs that it resumed.

    Attributes:
        minutes: Minutes of training.
        history: For each epoch a dict of the loss and the metrics.
    """

    minutes: float
    history: list


def fit(
    model, batches, *, steps, optimization, folder=None, resume=False, callbacks=(), **compiled
):
    """Trains a model, with a line of progress and a checkpoint after each epoch.

    A resumed run reproduces an uninterrupted one: weights,
    optimizer, random states and batches go on from the last whole epoch. Seed Keras before the
    model is built, and the batches by themselves.

    Args:
        model: A `keras.Model`; trained in place.
        batches: A sampler of `keras_dml.samplers`, or a `keras.utils.PyDataset` with a settable
            `epoch`; its length is that of an epoch.
        steps: Training steps, rounded up to whole epochs.
        optimization: An `Optimization`.
        folder: Folder of the checkpoint, created if missing; None for no checkpoint.
        resume: Whether to continue from the checkpoint in `folder`, if there is one. If False, a
            checkpoint there is deleted.
        callbacks: Further callbacks, called before the checkpoint is saved.
        **compiled: Further arguments of `model.compile`, such as `loss`.

    Returns:
        `Fitted`.

    Raises:
        ValueError: If `steps` is not positive, or something other than a checkpoint is in its
            place.
    """
    if steps < 1:
        raise ValueError(f"`steps` must be at least 1. Received steps={steps}.")
    epochs = -(-steps // len(batches))
    model.compile(optimization.optimizer(epochs * len(batches)), **compiled)
    start, earlier, saves = time.monotonic(), Fitted(0.0, []), []
    if folder is not None:
        saves = [Checkpoint(folder, resume)]
        earlier = Fitted(saves[0].minutes, list(saves[0].history))
    batches.epoch = len(earlier.history)
    logs = model.fit(
        batches,
        epochs=epochs,
        initial_epoch=batches.epoch,
        shuffle=False,
        verbose=0,
        callbacks=[*callbacks, *saves, ProgressLine(epochs, len(batches))],
    ).history
    minutes = earlier.minutes + (time.monotonic() - start) / 60
    history = [dict(zip(logs, values, strict=True)) for values in zip(*logs.values(), strict=True)]
    return Fitted(minutes, earlier.history + history)
