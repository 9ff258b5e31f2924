"""A line of progress an epoch."""

import sys
import time

from keras_dml._backend import keras


class ProgressLine(keras.callbacks.Callback):
    """Reports on stderr, after each epoch, the step, the loss and the time left.

    Args:
        epochs: Epochs of the whole training.
        steps_per_epoch: Steps of an epoch.
    """

    def __init__(self, epochs, steps_per_epoch):
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
