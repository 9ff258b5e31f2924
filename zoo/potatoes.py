"""What the recipes of covariance networks share: a training run by the potato ranking loss."""

import pathlib
import shutil
import time

from keras_dml._backend import keras
from keras_dml.models import PotatoNetwork
from keras_dml.samplers import PKSampler
from zoo import training

STEPS_PER_EPOCH = 20
WARM_UP = 20
# No exponential average of the weights: an average of orthonormal frames is none.


def train(
    encoder,
    recordings,
    *,
    vary,
    classes,
    per_class,
    length,
    steps,
    seed,
    out,
    resume=False,
    learning_rate,
    loss,
):
    """Trains an encoder of recordings that gives SPD matrices; statistics are measured anew after
    each epoch: the 1/t of Kim2020 alone would freeze them on embeddings of old weights.

    Args:
        encoder: Built `keras.Model` from recordings to matrices; trained in place.
        recordings: `people.People` to train on; `subjects` are the classes.
        vary: Augmentation, `vary(batch, rng) -> batch`.
        classes: Distinct classes in a batch.
        per_class: Recordings of each.
        length: Steps of a crop.
        steps: Training steps, rounded up to whole epochs.
        seed: Of the batches; seed Keras before the encoder is made.
        out: Folder of the checkpoint.
        resume: Whether to go on from it.
        learning_rate: Greatest learning rate of Adam.
        loss: `PotatoRankingLoss`.

    Returns:
        Minutes that this run took.
    """
    sampler = PKSampler(
        recordings.signals,
        recordings.subjects,
        classes,
        per_class,
        steps=STEPS_PER_EPOCH,
        length=length,
        augment=vary,
        seed=seed,
    )
    ids = {name: number for number, name in enumerate(sampler.class_names)}
    labels = [ids[subject] for subject in recordings.subjects]
    epochs = -(-steps // STEPS_PER_EPOCH)
    network = PotatoNetwork(encoder, len(ids))
    network.calibrate(recordings.signals, labels)
    schedule = keras.optimizers.schedules.CosineDecay(
        learning_rate / WARM_UP,
        max(1, epochs * STEPS_PER_EPOCH - WARM_UP),
        alpha=0.01,
        warmup_target=learning_rate,
        warmup_steps=WARM_UP,
    )
    network.compile(keras.optimizers.Adam(schedule), loss)
    checkpoint = pathlib.Path(out) / "checkpoint"
    if not resume:
        shutil.rmtree(checkpoint, ignore_errors=True)
    sampler.epoch = training.epochs_done(checkpoint)
    callbacks = [
        network.recalibration(recordings.signals, labels),
        training.Report(epochs, STEPS_PER_EPOCH),
        keras.callbacks.BackupAndRestore(checkpoint, delete_checkpoint=False),
    ]
    start = time.monotonic()
    network.fit(sampler, epochs=epochs, shuffle=False, verbose=0, callbacks=callbacks)
    return (time.monotonic() - start) / 60
