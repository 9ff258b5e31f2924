"""The four methods of Abdelwahab2019 as one option, and a training run that can be stopped and
resumed."""

import json
import pathlib
import shutil
import sys
import time

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml.geometry.quantile.wasserstein import trapezoid_weights
from keras_dml.losses import NPairLoss, WassersteinLoss
from keras_dml.models import sequence_encoder

# Abdelwahab2019, section 5.3: what aggregates, and what trains it. QP-CLS classifies the training
# people; its head is left out of the encoder that is returned.
METHODS = {
    "qp_wl": {"aggregation": "quantile"},
    "qp_npl": {"aggregation": "quantile", "flatten": True},
    "mp_npl": {"aggregation": "max"},
    "qp_cls": {"aggregation": "quantile", "flatten": True},
}
STEPS_PER_EPOCH = 100
WARM_UP = 100
EMA_MOMENTUM = 0.99
LEARNING_RATE = 1e-3
TEACHER_WEIGHTS = {"people": 0.5, "means": 50.0}  # the errors of the means are a few hundredths
# Cosines alone span too little for a softmax over dozens of people; Abdelwahab2019 has 1.
NPAIR_SCALE = 16.0


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


def fit(
    encoder,
    method,
    sampler,
    steps,
    *,
    teacher=None,
    learning_rate=LEARNING_RATE,
    scratch=None,
    resume=False,
):
    """Trains an encoder by its method: Adam, a cosine schedule and averaged weights.

    Args:
        encoder: Model of `build_encoder`; trained in place.
        method: One of `METHODS`.
        sampler: `keras_dml.samplers.NPairSampler` with `steps=STEPS_PER_EPOCH`.
        steps: Training steps, rounded up to whole epochs.
        teacher: `teacher(batch) -> (rows, filters)`, what the filters should be on average: an
            encoder of `"qp_wl"` learns it beside its loss. None: the loss alone.
        learning_rate: Greatest learning rate, after the warm-up.
        scratch: Folder of the checkpoint, one an epoch; None: no checkpoint.
        resume: Whether to go on from the checkpoint in `scratch`.

    Returns:
        Minutes that this run took.
    """
    epochs = -(-steps // STEPS_PER_EPOCH)
    optimizer = _optimizer(epochs * STEPS_PER_EPOCH, learning_rate)
    batches = sampler
    if teacher is not None:
        trained, batches = _with_filter_means(encoder), _Taught(sampler, teacher)
        trained.compile(optimizer, {"people": _loss(method), "means": "mse"}, TEACHER_WEIGHTS)
    else:
        classes = len(sampler.class_names)
        trained = _with_classifier(encoder, classes) if method == "qp_cls" else encoder
        trained.compile(optimizer, _loss(method))
    callbacks = [Report(epochs)]
    if scratch is not None:
        checkpoint = pathlib.Path(scratch) / "checkpoint"
        if not resume:
            shutil.rmtree(checkpoint, ignore_errors=True)
        sampler.epoch = epochs_done(checkpoint)
        callbacks.append(keras.callbacks.BackupAndRestore(checkpoint, delete_checkpoint=False))
    start = time.monotonic()
    trained.fit(batches, epochs=epochs, shuffle=False, verbose=0, callbacks=callbacks)
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


def _with_filter_means(encoder):
    means = _FilterMeans(name="means")(encoder.output)
    return keras.Model(encoder.input, {"people": encoder.output, "means": means})


class _FilterMeans(keras.layers.Layer):
    """Mean of each filter over time, from its quantile function, plus a learned constant."""

    def build(self, input_shape):
        self.constant = self.add_weight(name="constant", shape=(input_shape[1] - 1,))

    def call(self, embedding):
        weights = trapezoid_weights(embedding[0, -1])
        return ops.matmul(embedding[:, :-1], weights[:, None])[..., 0] + self.constant


class _Taught(keras.utils.PyDataset):
    """The batches of a sampler, pairs in neighboring rows, with the teacher's answers beside the
    labels: both rows of a pair learn the mean of the two answers, which is nearer to the person
    than each of them."""

    def __init__(self, sampler, teacher):
        super().__init__()
        self.sampler, self.teacher = sampler, teacher

    def __len__(self):
        return len(self.sampler)

    def __getitem__(self, index):
        batch, labels = self.sampler[index]
        answers = self.teacher(batch)
        pairs = answers.reshape(-1, 2, answers.shape[-1]).mean(axis=1)
        return batch, {"people": labels, "means": np.repeat(pairs, 2, axis=0)}

    def on_epoch_end(self):
        self.sampler.on_epoch_end()


def epochs_done(checkpoint):
    """Keras says in which epoch a restored run begins, to the model but not to the data."""
    file = checkpoint / "training_metadata.json"
    return json.loads(file.read_text())["epoch"] if file.exists() else 0


class Report(keras.callbacks.Callback):
    """One line an epoch on stderr: step, loss, time left."""

    def __init__(self, epochs, steps_per_epoch=STEPS_PER_EPOCH):
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
