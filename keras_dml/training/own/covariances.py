"""Methods for recordings of many channels, such as EEG, by how the channels move together."""

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
from keras_dml.training.fronts import applied
from keras_dml.training.own import sequences
from keras_dml.training.own.methods import Learner, Method

AVERAGED_TO_HZ = 85.0  # rhythms up to some 40 Hz, of `zoo/eeg_spdnet_rpl`
FLOOR = 1e-3  # smallest eigenvalue, of a mean of one
DISCRIMINANTS = 64
WIDTHS = (48, 32)  # sides of the matrices behind each bilinear map
CLASSES, PER_CLASS, CROP = 12, 6, 7 / 8  # of a batch; of a window
GAIN, STEPS_PER_EPOCH = 0.05, 20
Z_THRESHOLD, MARGIN = 1.0, 3.0
LEARNING_RATE = 1e-3

LDA_PAPER = "linear discriminants of log-covariances in closed form, a baseline of our own"
RPL_PAPER = "Kim2020, Eqs. 6-21, on an SPD network (Huang2017)"


def methods(task):
    """The methods for a task, those in closed form first.

    Args:
        task: `keras_dml.training.own.task.Task`.
    """
    rhythms = "covariances of the fast rhythms"
    return [
        sequences.as_recorded(),
        Method(
            "rhythms_log_euclidean",
            f"log-Euclidean distance of {rhythms}, nothing trained",
            sequences.LOG_EUCLIDEAN_PAPER,
            lambda task, known: log_covariances(task),
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


def log_covariances(task):
    """A model that gives logarithms of covariances of the steps' differences, each a fraction of
    its trace; nothing is trained.

    Args:
        task: `keras_dml.training.own.task.Task`.
    """
    signal = keras.Input((None, len(task.channels)), name="signal")
    rest = LogEig(_floor(task)), TangentVector(name="statistics")
    return keras.Model(signal, applied([*_front(task), *rest], signal), name="log_covariances")


def logcov_lda(task, known):
    """A model by linear discriminants of these logarithms.

    Args:
        task: `keras_dml.training.own.task.Task`.
        known: `keras_dml.training.People` to fit.
    """
    windows = task.to_fit(known)
    return discriminants.of_features(
        log_covariances(task), windows.signals, windows.subjects, DISCRIMINANTS
    )


def spdnet_rpl(task, known, steps):
    """A network of covariances, about to learn by the potato ranking loss (Kim2020).

    Args:
        task: `keras_dml.training.own.task.Task`.
        known: `keras_dml.training.People` to train on.
        steps: Training steps.

    Returns:
        `Learner`.
    """
    channels = len(task.channels)
    windows = task.to_fit(known)
    names, counts = np.unique(windows.subjects, return_counts=True)
    windows = windows.of(set(names[counts > 1]))
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
        signal, applied([*_front(task), *matrices.layers[1:]], signal), name="spdnet_rpl"
    )
    ids = {name: number for number, name in enumerate(batches.class_names)}
    labels = [ids[subject] for subject in windows.subjects]
    network = PotatoNetwork(encoder, len(ids))
    network.calibrate(windows.signals, labels)
    # no moving average of the weights: an average of orthonormal frames is none
    optimization = Optimization(LEARNING_RATE, warm_up=min(20, steps // 5), start=0.05)
    compiled = {"loss": PotatoRankingLoss(Z_THRESHOLD, margin=MARGIN)}
    again = network.recalibration(windows.signals, labels)
    return Learner(encoder, network, batches, optimization, compiled, (again,))


def _floor(task):
    return FLOOR / len(task.channels)


def _front(task):
    average = max(1, round(task.rate_hz / AVERAGED_TO_HZ))
    return [
        MaskedAveragePooling1D(average),
        FirstDifference(),
        Covariance("trace_normalized", name="covariance"),
    ]
