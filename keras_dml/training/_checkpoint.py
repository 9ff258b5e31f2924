"""The state of a training after its last whole epoch, in one folder that is whole or not there."""

import functools
import json
import pathlib
import shutil
import time

import numpy as np

from keras_dml import _files
from keras_dml._backend import keras, ops
from keras_dml.training.runs import write_json

FOLDER, WEIGHTS, PROGRESS = "checkpoint", "state.weights.h5", "progress.json"
_place = functools.partial(
    _files.replaceable_folder, what="checkpoint", mark=PROGRESS, members=(WEIGHTS, PROGRESS)
)


class Checkpoint(keras.callbacks.Callback):
    """Saves weights, optimizer, random states, history and minutes after each epoch.

    `keras.callbacks.BackupAndRestore` saves no random states, so dropout goes on otherwise than it
    would have, and writes weights and epoch one after the other, so a run that is killed in between
    repeats an epoch.

    Args:
        folder: Folder that the checkpoint lies in, created if missing.
        resume: Whether training begins from the checkpoint that is there; else it is deleted.

    Attributes:
        history: For each epoch done, a dict of the loss and the metrics.
        minutes: Minutes of training before this run.

    Raises:
        ValueError: If something else is in its place, or the checkpoint is damaged.
    """

    def __init__(self, folder, resume):
        super().__init__()
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.minutes, self.history = _place(folder / FOLDER), 0.0, []
        if not resume:
            shutil.rmtree(self.path, ignore_errors=True)
        elif self.path.exists():
            self.minutes, self.history, self._random_states = _progress(self.path / PROGRESS)

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
        states = [ops.convert_to_numpy(one).tolist() for one in _random_variables(self.model)]
        self.history.append({name: float(value) for name, value in logs.items()})
        progress = {"minutes": minutes, "history": self.history, "random_states": states}
        with _files.staged(self.path, _place) as candidate:
            candidate.mkdir()
            self.model.save_weights(candidate / WEIGHTS)
            write_json(candidate / PROGRESS, progress)


def _random_variables(model):
    """States of the model's seed generators, which `save_weights` leaves out."""
    others = {id(one) for one in (*model.weights, *model.metrics_variables)}
    return [one for one in model.variables if id(one) not in others]


def _progress(path):
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return float(found["minutes"]), list(found["history"]), list(found["random_states"])
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is damaged ({error}). Delete the folder {path.parent}; training then begins "
            "anew."
        ) from error
