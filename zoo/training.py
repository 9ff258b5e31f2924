"""The four methods of paper 1 as one option, and a training run that can be stopped and resumed."""

import json
import pathlib
import shutil
import sys
import time

from keras_dml._keras import keras
from keras_dml.losses import NPairLoss, WassersteinLoss
from keras_dml.models import sequence_encoder

# P1 section 5.3: what aggregates, and what trains it. QP-CLS classifies the training people; its
# head is left out of the encoder that is returned.
METHODS = {
    "qp_wl": {"aggregation": "quantile"},
    "qp_npl": {"aggregation": "quantile", "flatten": True},
    "mp_npl": {"aggregation": "max"},
    "qp_cls": {"aggregation": "quantile", "flatten": True},
}
STEPS_PER_EPOCH = 100
WARM_UP = 100
EMA_MOMENTUM = 0.99
NPAIR_SCALE = 16.0  # cosines alone span too little for a softmax over dozens of people; P1 has 1


def build_encoder(method, channels, **options):
    """An untrained encoder of that method.

    Args:
        method: One of `METHODS`.
        channels: Channels of a recording.
        **options: Further arguments of `keras_dml.models.sequence_encoder`.

    Raises:
        ValueError: If the method is unknown.
    """
    if method not in METHODS:
        raise ValueError(f"`method` must be one of {tuple(METHODS)}. Received method={method!r}.")
    return sequence_encoder(channels, **METHODS[method], **options)


def fit(encoder, method, sampler, steps, *, learning_rate=1e-3, scratch=None, resume=False):
    """Trains an encoder by its method: Adam, a cosine schedule and averaged weights.

    Args:
        encoder: Model of `build_encoder`; trained in place.
        method: One of `METHODS`.
        sampler: `keras_dml.samplers.NPairSampler` with `steps=STEPS_PER_EPOCH`.
        steps: Training steps, rounded up to whole epochs.
        learning_rate: Greatest learning rate, after the warm-up.
        scratch: Folder of the checkpoint, one an epoch; None: no checkpoint.
        resume: Whether to go on from the checkpoint in `scratch`.

    Returns:
        Minutes that this run took.
    """
    epochs = -(-steps // STEPS_PER_EPOCH)
    trained = _with_classifier(encoder, len(sampler.class_names)) if method == "qp_cls" else encoder
    trained.compile(_optimizer(epochs * STEPS_PER_EPOCH, learning_rate), _loss(method))
    callbacks = [_Report(epochs)]
    if scratch is not None:
        checkpoint = pathlib.Path(scratch) / "checkpoint"
        if not resume:
            shutil.rmtree(checkpoint, ignore_errors=True)
        sampler.epoch = _epochs_done(checkpoint)
        callbacks.append(keras.callbacks.BackupAndRestore(checkpoint, delete_checkpoint=False))
    start = time.monotonic()
    trained.fit(sampler, epochs=epochs, shuffle=False, verbose=0, callbacks=callbacks)
    return (time.monotonic() - start) / 60


def _optimizer(steps, learning_rate):
    schedule = keras.optimizers.schedules.CosineDecay(
        learning_rate / WARM_UP,
        max(1, steps - WARM_UP),
        alpha=0.01,
        warmup_target=learning_rate,
        warmup_steps=WARM_UP,
    )
    return keras.optimizers.Adam(schedule, use_ema=True, ema_momentum=EMA_MOMENTUM)


def _loss(method):
    if method == "qp_wl":
        return WassersteinLoss(p=1)
    if method == "qp_cls":
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return NPairLoss("cosine", scale=NPAIR_SCALE)


def _with_classifier(encoder, classes):
    return keras.Sequential([encoder, keras.layers.Dense(classes, name="people")])


def _epochs_done(checkpoint):
    """Keras says in which epoch a restored run begins, to the model but not to the data."""
    file = checkpoint / "training_metadata.json"
    return json.loads(file.read_text())["epoch"] if file.exists() else 0


class _Report(keras.callbacks.Callback):
    """One line an epoch on stderr: step, loss, time left."""

    def __init__(self, epochs):
        super().__init__()
        self.epochs = epochs

    def on_train_begin(self, logs=None):
        self.start, self.first = time.monotonic(), None

    def on_epoch_end(self, epoch, logs=None):
        self.first = epoch if self.first is None else self.first
        spent = time.monotonic() - self.start
        left = spent / (epoch - self.first + 1) * (self.epochs - epoch - 1)
        step = (epoch + 1) * STEPS_PER_EPOCH
        print(
            f"step {step}/{self.epochs * STEPS_PER_EPOCH}  loss {logs['loss']:.4f}  "
            f"{spent / 60:.1f} min, {left / 60:.1f} min left",
            file=sys.stderr,
            flush=True,
        )
