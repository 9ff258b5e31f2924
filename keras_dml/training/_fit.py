"""Trains models with warm-up, cosine decay, progress lines and resumable checkpoints."""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
import shutil
import sys
import time
from typing import Any, NamedTuple

import numpy as np

from keras_dml import _files
from keras_dml._backend import keras, ops
from keras_dml._messages import Message
from keras_dml._typing import Path
from keras_dml.training.runs import write_json

END = 0.01  # final learning rate, as a fraction of the largest one
FOLDER, WEIGHTS, PROGRESS = "checkpoint", "state.weights.h5", "progress.json"
_replaceable_folder = functools.partial(
    _files.replaceable_folder, what="checkpoint", mark=PROGRESS, members=(WEIGHTS, PROGRESS)
)


@dataclasses.dataclass(frozen=True)
class Optimization:
    """Settings of Adam with a linear warm-up and a cosine decay of the learning rate.

    Attributes:
        learning_rate: Learning rate at the end of the warm-up, which is the largest learning rate.
        warm_up: Number of steps of the warm-up.
        start: Learning rate of the first step, as a fraction of `learning_rate`.
        weight_decay: Decoupled weight decay (AdamW). If None, weights do not decay.
        clip_norm: Largest global norm of the gradient. If None, gradients are not clipped.
        average: Momentum of the exponential moving average (EMA) of the weights. The average
            replaces the weights at the end of training. If None, weights are not averaged.

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

    def schedule(self, steps: int) -> keras.optimizers.schedules.LearningRateSchedule:
        """Returns the learning rate schedule of a training with `steps` steps."""
        return keras.optimizers.schedules.CosineDecay(
            self.start * self.learning_rate,
            max(1, steps - self.warm_up),
            alpha=END,
            warmup_target=self.learning_rate,
            warmup_steps=self.warm_up,
        )

    def optimizer(self, steps: int) -> keras.optimizers.Optimizer:
        """Creates the optimizer of a training with `steps` steps."""
        averaging = {"use_ema": True, "ema_momentum": self.average} if self.average else {}
        return keras.optimizers.Adam(
            self.schedule(steps),
            weight_decay=self.weight_decay,
            global_clipnorm=self.clip_norm,
            **averaging,
        )


class Fitted(NamedTuple):
    """Duration and history of a training, including the interrupted runs that it resumed.

    Attributes:
        minutes: Duration of the training in minutes.
        history: Loss and metrics of each epoch, a list of dicts.
    """

    minutes: float
    history: list[Any]


def fit(
    model: keras.Model,
    batches: keras.utils.PyDataset,
    *,
    steps: int,
    optimization: Optimization,
    folder: Path | None = None,
    resume: bool = False,
    callbacks: tuple[Any, ...] = (),
    **compiled: Any,
) -> Fitted:
    """Trains a model, prints progress, and writes a checkpoint after each epoch.

    If an interrupted training is resumed, the result equals the result of an uninterrupted
    training, because weights, optimizer, random states and batches continue after the last complete
    epoch. Set Keras's seed before you build the model, and set the seed of the batches separately.

    Args:
        model: A `keras.Model`, trained in place.
        batches: A sampler of `keras_dml.samplers`, or a `keras.utils.PyDataset` with a settable
            `epoch`. The length of `batches` is the number of steps per epoch.
        steps: Number of training steps, rounded up to whole epochs.
        optimization: Optimizer and learning rate.
        folder: Folder of the checkpoint, created if missing. If None, no checkpoint is written.
        resume: Whether to continue from the checkpoint in `folder`, if a checkpoint exists. If
            False, an existing checkpoint is deleted.
        callbacks: Further callbacks, which are called before the checkpoint is saved.
        **compiled: Further arguments of `model.compile`, such as `loss`.

    Raises:
        ValueError: If `steps` is not positive, or if the path of the checkpoint is not a folder.
    """
    if steps < 1:
        raise ValueError(Message("{steps} is {value}, but it must be at least 1.", value=steps))
    epochs = -(-steps // len(batches))
    model.compile(optimization.optimizer(epochs * len(batches)), **compiled)
    start, earlier, checkpoints = time.monotonic(), Fitted(0.0, []), []
    if folder is not None:
        checkpoints = [Checkpoint(folder, resume)]
        earlier = Fitted(checkpoints[0].minutes, list(checkpoints[0].history))
    batches.epoch = len(earlier.history)
    logs = model.fit(
        batches,
        epochs=epochs,
        initial_epoch=batches.epoch,
        shuffle=False,
        verbose=0,
        callbacks=[*callbacks, *checkpoints, ProgressLine(epochs, len(batches))],
    ).history
    minutes = earlier.minutes + (time.monotonic() - start) / 60
    history = [dict(zip(logs, values, strict=True)) for values in zip(*logs.values(), strict=True)]
    return Fitted(minutes, earlier.history + history)


class Checkpoint(keras.callbacks.Callback):
    """Callback that saves a checkpoint after each epoch.

    A checkpoint holds weights, optimizer, random states, history and duration. If writing is
    interrupted, the previous checkpoint remains. `keras.callbacks.BackupAndRestore` does not save
    random states, so dropout would differ after a restart. `BackupAndRestore` also writes two
    files: first the weights, then the number of the epoch. A run that is killed between the two
    writes therefore repeats an epoch.

    Args:
        folder: Folder that contains the checkpoint, created if missing.
        resume: Whether to continue from an existing checkpoint. If False, an existing checkpoint is
            deleted.

    Attributes:
        history: Loss and metrics of each finished epoch, a list of dicts.
        minutes: Minutes of training before this run.

    Raises:
        ValueError: If the path of the checkpoint is not a folder, or if the checkpoint is damaged.
    """

    def __init__(self, folder: Path, resume: bool) -> None:
        super().__init__()
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.minutes, self.history = _replaceable_folder(folder / FOLDER), 0.0, []
        if not resume:
            shutil.rmtree(self.path, ignore_errors=True)
        elif self.path.exists():
            self.minutes, self.history, self._random_states = _read_progress(self.path / PROGRESS)

    def on_train_begin(self, logs=None):
        self._start = time.monotonic()
        if self.history:
            if not self.model.optimizer.built:
                self.model.optimizer.build(self.model.trainable_variables)
            self.model.load_weights(self.path / WEIGHTS)
            pairs = zip(_random_variables(self.model), self._random_states, strict=True)
            for variable, value in pairs:
                variable.assign(np.array(value, variable.dtype))

    def on_epoch_end(self, epoch, logs=None):
        minutes = self.minutes + (time.monotonic() - self._start) / 60
        states = [ops.convert_to_numpy(state).tolist() for state in _random_variables(self.model)]
        self.history.append({name: float(value) for name, value in logs.items()})
        progress = {"minutes": minutes, "history": self.history, "random_states": states}
        with _files.staged(self.path, _replaceable_folder) as candidate:
            candidate.mkdir()
            self.model.save_weights(candidate / WEIGHTS)
            write_json(candidate / PROGRESS, progress)


def _random_variables(model):
    """Returns the states of the model's seed generators, which `save_weights` does not save."""
    saved = {id(variable) for variable in (*model.weights, *model.metrics_variables)}
    return [variable for variable in model.variables if id(variable) not in saved]


def _read_progress(path):
    try:
        progress = json.loads(path.read_text(encoding="utf-8"))
        return (
            float(progress["minutes"]),
            list(progress["history"]),
            list(progress["random_states"]),
        )
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is damaged ({error}). Delete the folder {path.parent}. Training then starts "
            "again."
        ) from error


class ProgressLine(keras.callbacks.Callback):
    """Callback that prints the step, the loss and the time left to stderr after each epoch.

    Args:
        epochs: Number of epochs of the whole training.
        steps_per_epoch: Number of steps per epoch.
    """

    def __init__(self, epochs: int, steps_per_epoch: int) -> None:
        super().__init__()
        self.epochs, self.steps_per_epoch = epochs, steps_per_epoch

    def on_train_begin(self, logs=None):
        self.start, self.first = time.monotonic(), None

    def on_epoch_end(self, epoch, logs=None):
        self.first = epoch if self.first is None else self.first
        spent = time.monotonic() - self.start
        left = spent / (epoch - self.first + 1) * (self.epochs - epoch - 1)
        step = (epoch + 1) * self.steps_per_epoch
        print(
            f"step {step}/{self.epochs * self.steps_per_epoch}  loss {logs['loss']:.4f}  "
            f"{spent / 60:.1f} min, {left / 60:.1f} min left",
            file=sys.stderr,
            flush=True,
        )
