"""What the recipes of prototypical classifiers share: training with checkpoints, rows of figures,
images for the golden file."""

import json
import pathlib
import shutil
import time

import numpy as np

from keras_dml import inference
from keras_dml._backend import keras
from keras_dml._files import write_text
from zoo import recipe, training

STEPS_PER_EPOCH, WARM_UP = 250, 200
# What a card's limits say of the prototypes in the file.
REFITTED = (
    "The prototypes in the file are class means of the training images, taken after training."
)
MOVING = (
    "The prototypes in the file are moving means of the training: recompute them before extending "
    "one."
)
OWN_CLASSES = "Measured on its own classes alone: verification, retrieval and new classes were not."
# Where the broken line bends by which a similarity begins, in typical differences.
BENDS = (0.0, 0.5, 1.0, 1.75)
PIECES = len(BENDS)
CLIP = 10.0  # of the gradient's norm: similarities have no bound


def fit(
    model,
    sampler,
    steps,
    *,
    out,
    resume=False,
    learning_rate,
    weight_decay=1e-4,
    **compiled,
):
    """Trains a classifier, or what trains one, with a checkpoint an epoch.

    Args:
        model: `PrototypicalClassifier` or `AdversarialTraining`; trained in place.
        sampler: Sampler with `steps=STEPS_PER_EPOCH`.
        steps: Training steps, rounded up to whole epochs.
        out: Folder of the checkpoint.
        resume: Whether to go on from it.
        learning_rate: Greatest learning rate, after the warm-up.
        weight_decay: Of AdamW.
        **compiled: Of `model.compile`, such as `loss`.

    Returns:
        Minutes of training, those of the runs that this one goes on from counted.
    """
    epochs = -(-steps // STEPS_PER_EPOCH)
    schedule = keras.optimizers.schedules.CosineDecay(
        learning_rate / 10,
        max(1, epochs * STEPS_PER_EPOCH - WARM_UP),
        alpha=0.01,
        warmup_target=learning_rate,
        warmup_steps=WARM_UP,
    )
    optimizer = keras.optimizers.AdamW(schedule, weight_decay=weight_decay, global_clipnorm=CLIP)
    # XLA is slower than TensorFlow's own convolutions on a processor
    model.compile(optimizer, jit_compile=False, **compiled)
    checkpoint = pathlib.Path(out) / "checkpoint"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    if not resume:
        shutil.rmtree(checkpoint, ignore_errors=True)
    sampler.epoch = training.epochs_done(checkpoint)
    callbacks = [
        training.Report(epochs, STEPS_PER_EPOCH),
        keras.callbacks.BackupAndRestore(checkpoint, delete_checkpoint=False),
    ]
    clock = pathlib.Path(out) / "minutes.txt"
    before = float(clock.read_text()) if resume and clock.exists() else 0.0
    start = time.monotonic()
    model.fit(sampler, epochs=epochs, shuffle=False, verbose=0, callbacks=callbacks)
    minutes = before + (time.monotonic() - start) / 60
    clock.write_text(f"{minutes}\n")
    return minutes


def begin_as_a_metric(similarity):
    """Turns the signs of a new similarity's weights so that it falls with every difference: a
    distance with random weights, which training then shapes."""
    first, last = similarity.kernels
    first.assign(np.abs(first))
    last.assign(-np.abs(last))


def begin_as_squares(similarity, gain):
    """Sets a new similarity to `-gain` times the squared distance of unit vectors, but for a
    constant: in each difference a broken line of `PIECES` pieces.

    Args:
        similarity: Built `LearnedSimilarity` with `symmetry="absdiff"`, `normalize=True` and one
            hidden layer of `PIECES` units a feature.
        gain: Of the squared distance.
    """
    first, last = similarity.kernels
    features = first.shape[0]
    typical = np.sqrt(2 / features)  # root mean square of a difference between strangers
    bends = typical * np.array(BENDS)
    differences = np.linspace(0, 3 * typical, 200)
    weights = np.exp(-((differences / typical) ** 2) / 4)[:, None]
    lines = differences[:, None] - bends
    lines = np.column_stack([np.maximum(lines, similarity.slope * lines), np.ones(200)])
    fitted = np.linalg.lstsq(weights * lines, weights[:, 0] * differences**2)[0][:PIECES]
    first.assign(np.kron(np.eye(features), np.ones(PIECES)))
    similarity.biases[0].assign(-np.tile(bends, features))
    last.assign(-gain * np.tile(fitted, features)[:, None])


def share(protocol, metric, value, trials, **keys):
    """A row of a card for a share of trials, with its binomial standard error."""
    return {
        "protocol": protocol,
        "n": 1,
        "metric": metric,
        "value": float(value),
        "stderr": float(np.sqrt(value * (1 - value) / trials)),
        "trials": int(trials),
        **keys,
    }


def accuracies(model, x, y):
    """Rows of both heads of a classifier: the learned similarity and the auxiliary one."""
    z = inference.embed(model, x, batch_size=500, progress=False)
    heads = {head: np.asarray(model.head_scores(z, head)) for head in ("sim", "dol")}
    return [
        share("classification", "accuracy", np.mean(scores.argmax(axis=1) == y), len(y), head=head)
        for head, scores in heads.items()
    ]


def keep(figures, out):
    """Writes rows to `out/figures.json` and prints them, one a line."""
    write_text(out / recipe.FIGURES, json.dumps(figures, indent=1) + "\n")
    for row in figures:
        rest = ", ".join(
            f"{key} {value}"
            for key, value in row.items()
            if key not in ("protocol", "metric", "value", "stderr", "trials", "n")
        )
        print(
            f"{row['protocol']:<16} {row['metric']:<10} {100 * row['value']:6.2f} % "
            f"± {100 * row['stderr']:.2f} ({row['trials']:,} trials) {rest}",
            flush=True,
        )
    return figures


def golden_images(count=2, side=28, channels=1, seed=0):
    """Synthetic images of even squares, which may be passed on: for a model's golden file."""
    rng = np.random.default_rng(seed)
    coarse = rng.random((count, side // 4, side // 4, channels))
    return list(coarse.repeat(4, axis=1).repeat(4, axis=2).astype(np.float32))
