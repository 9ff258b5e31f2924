"""Defines methods that compare covariances between channels, for recordings such as EEG."""

from __future__ import annotations

import numpy as np

from keras_dml._backend import keras
from keras_dml.layers import (
    Covariance,
    FirstDifference,
    LogEig,
    MaskedAveragePooling1D,
    TangentVector,
)
from keras_dml.losses import PotatoRankingLoss
from keras_dml.models import PotatoNetwork, spdnet
from keras_dml.samplers import PKSampler
from keras_dml.training import Optimization, augment, discriminants
from keras_dml.training.fronts import apply
from keras_dml.training.own import sequences
from keras_dml.training.own.methods import Learner, Method
from keras_dml.training.own.task import Task
from keras_dml.training.people import People

AVERAGED_TO_HZ = 85.0  # keeps rhythms up to about 40 Hz, as in `zoo/eeg_spdnet_rpl`
FLOOR = 1e-3  # smallest eigenvalue of a matrix whose mean eigenvalue is 1
DISCRIMINANTS = 64
WIDTHS = (48, 32)  # numbers of rows of the matrices after each bilinear map
# number of people per batch, number of windows per batch, and fraction of a window that crops keep
CLASSES, PER_CLASS, CROP = 12, 6, 7 / 8
GAIN, STEPS_PER_EPOCH = 0.05, 20
Z_THRESHOLD, MARGIN = 1.0, 3.0
LEARNING_RATE = 1e-3

LDA_PAPER = "linear discriminant analysis of log-covariances, a closed-form baseline of keras-dml"
RPL_PAPER = "Kim2020, Eqs. 6-21, on an SPD network (Huang2017)"


def methods(task: Task) -> list[Method]:
    """Returns the methods for a task. The closed-form methods come first."""
    rhythms = "covariances of the fast rhythms"
    return [
        sequences.as_recorded(),
        Method(
            "rhythms_log_euclidean",
            f"log-Euclidean distance between {rhythms}, without training",
            sequences.LOG_EUCLIDEAN_PAPER,
            lambda task, people: log_covariances(task),
            learns=False,
        ),
        Method("logcov_lda", f"linear discriminants of {rhythms}", LDA_PAPER, logcov_lda),
        Method(
            "spdnet_rpl",
            f"SPD network and potato ranking loss on {rhythms}",
            RPL_PAPER,
            learner=spdnet_rpl,
        ),
    ]


def log_covariances(task: Task) -> keras.Model:
    """Returns a model without trained weights that computes logarithms of covariances.

    The covariances are computed from the differences between consecutive steps, and divided by
    their trace.
    """
    signal = keras.Input((None, len(task.channels)), name="signal")
    rest = LogEig(_floor(task)), TangentVector(name="statistics")
    return keras.Model(signal, apply([*_front(task), *rest], signal), name="log_covariances")


def logcov_lda(task: Task, people: People) -> keras.Model:
    """Fits linear discriminants (LDA) to the outputs of `log_covariances`.

    Args:
        task: Task of the training.
        people: `People` with the recordings that the discriminants are fitted to.
    """
    windows = task.to_fit(people)
    return discriminants.discriminant_model(
        log_covariances(task), windows.signals, windows.subjects, DISCRIMINANTS
    )


def spdnet_rpl(task: Task, people: People, steps: int) -> Learner:
    """Creates an SPD network on covariances that is trained with the potato ranking loss (Kim2020).

    Args:
        task: Task of the training.
        people: `People` with the recordings to train on.
        steps: Number of training steps.
    """
    channels = len(task.channels)
    windows = task.to_fit(people)
    names, counts = np.unique(windows.subjects, return_counts=True)
    windows = windows.select(set(names[counts > 1]))
    batches = PKSampler(
        windows.signals,
        windows.subjects,
        min(CLASSES, int((counts > 1).sum())),
        min(PER_CLASS, int(counts[counts > 1].min())),
        steps=min(STEPS_PER_EPOCH, steps),
        length=max(1, round(CROP * task.window)),
        augment=lambda batch, rng: augment.scale(batch, rng, GAIN),
        seed=task.seed,
    )
    sizes = (channels, *(min(width, channels) for width in WIDTHS))
    matrices = spdnet(sizes, output="spd", epsilon=_floor(task))
    signal = keras.Input((None, channels), name="signal")
    encoder = keras.Model(
        signal, apply([*_front(task), *matrices.layers[1:]], signal), name="spdnet_rpl"
    )
    ids = {name: number for number, name in enumerate(batches.class_names)}
    labels = [ids[subject] for subject in windows.subjects]
    network = PotatoNetwork(encoder, len(ids))
    network.calibrate(windows.signals, labels)
    # The weights are not averaged, because the mean of orthonormal frames is not orthonormal.
    optimization = Optimization(LEARNING_RATE, warm_up=min(20, steps // 5), start=0.05)
    compiled = {"loss": PotatoRankingLoss(Z_THRESHOLD, margin=MARGIN)}
    recalibration = network.recalibration(windows.signals, labels)
    return Learner(encoder, network, batches, optimization, compiled, (recalibration,))


def _floor(task):
    return FLOOR / len(task.channels)


def _front(task):
    average = max(1, round(task.rate_hz / AVERAGED_TO_HZ))
    return [
        MaskedAveragePooling1D(average),
        FirstDifference(),
        Covariance("trace_normalized", name="covariance"),
    ]
