"""Methods for recordings of few channels over time, such as those of motion."""

from __future__ import annotations

import functools

import numpy as np

from keras_dml._backend import keras
from keras_dml.geometry.signals.correlation import num_correlations
from keras_dml.layers import (
    ChannelNormalization,
    Covariance,
    GravityFrame,
    LogEig,
    TangentVector,
)
from keras_dml.losses import WassersteinLoss
from keras_dml.models import sequence_encoder
from keras_dml.samplers import NPairSampler
from keras_dml.training import augment, discriminants, fronts
from keras_dml.training.own.methods import Learner, Method, optimization

# Of walks at 25 and at 100 Hz, `zoo/phone_baselines.py` and `zoo/gait_lda`.
LAG_SECONDS = (0.0, 0.04, 0.08, 0.16, 0.32, 0.64)
DISCRIMINANTS, MAX_FEATURES = 64, 2000
TEMPOS = (0.85, 0.92, 1.0, 1.08, 1.16)  # of walkers
GRAVITY_LAG = 0.12  # seconds, see `GravityFrame`
LEARNING_RATE = 3e-3
STEPS_PER_EPOCH = 25
BATCH_STEPS = 32_000  # of all windows of a batch together
MOST_PAIRS, FEWEST_PAIRS = 64, 8
HALVED_TO_HZ = 7.0  # rate behind the halvings, as of walks at 25 Hz halved twice
GAIN, NOISE, FILTERING, MIXING = 0.03, 0.03, 0.3, 0.3

LDA_PAPER = "linear discriminants of lagged correlations in closed form, a baseline of our own"
LOG_EUCLIDEAN_PAPER = "log-Euclidean distance of covariances (Kim2020, Eq. 4), nothing trained"
QP_WL_PAPER = "Abdelwahab2019, Eqs. 2, 9, 13 (arXiv 1912.01933)"
IN_FRAME = ", in the frame of gravity"


def methods(task):
    """The methods for a task, those in closed form first.

    Args:
        task: `keras_dml.training.own.task.Task`.
    """
    found = [
        as_recorded(),
        Method(
            "lda",
            "linear discriminants of lagged correlations",
            LDA_PAPER,
            functools.partial(linear_discriminants, in_frame=False),
        ),
    ]
    frame = ""
    if task.has_gravity:
        frame = IN_FRAME
        found += [
            Method(
                "gravity_log_euclidean",
                f"log-Euclidean distance of covariances{frame}, nothing trained",
                LOG_EUCLIDEAN_PAPER,
                functools.partial(log_euclidean, in_frame=True),
                learns=False,
            ),
            Method(
                "gravity_lda",
                f"linear discriminants of lagged correlations{frame}, at five tempos",
                LDA_PAPER,
                functools.partial(linear_discriminants, in_frame=True),
            ),
        ]
    what = f"quantile layer and Wasserstein loss{frame}"
    return [*found, Method("qp_wl", what, QP_WL_PAPER, learner=qp_wl)]


def as_recorded():
    """The `Method` that compares covariances of the channels as recorded, and learns nothing."""
    return Method(
        "log_euclidean",
        "log-Euclidean distance of covariances, nothing trained",
        LOG_EUCLIDEAN_PAPER,
        functools.partial(log_euclidean, in_frame=False),
        learns=False,
    )


def log_euclidean(task, known, in_frame):
    """A model by the log-Euclidean distance of covariances.

    Args:
        task: `keras_dml.training.own.task.Task`.
        known: `People` whose statistics normalize the channels.
        in_frame: Whether acceleration is turned into the frame of gravity before.
    """
    front = _front(task, "axes" if in_frame else None)
    normalization = ChannelNormalization(name="normalization")
    normalization.adapt(fronts.outputs(front, task.to_adapt(known)))
    x = signal = keras.Input((None, len(task.channels)), name="signal")
    rest = Covariance("oas", name="covariance"), LogEig(), TangentVector(name="embedding")
    x = fronts.applied([*front, normalization, *rest], x)
    return keras.Model(signal, x, name="log_euclidean")


def linear_discriminants(task, known, in_frame):
    """A model by linear discriminants of lagged correlations.

    Args:
        task: `keras_dml.training.own.task.Task`.
        known: `People` to fit.
        in_frame: Whether acceleration is turned into the frame of gravity before; then walks at
            other tempos are further people.
    """
    windows = task.to_fit(known, TEMPOS if in_frame else (1,))
    front = _front(task, "both" if in_frame else None)
    channels = 4 if in_frame else len(task.channels)
    return discriminants.fitted(
        np.stack(windows.signals),
        windows.subjects,
        lags(task, channels),
        DISCRIMINANTS,
        adapt_to=task.to_adapt(known),
        front=front,
    )


def lags(task, channels):
    """Lags in steps, shorter than a third of a window, as many as keep the features few.

    Args:
        task: `keras_dml.training.own.task.Task`.
        channels: Channels that are correlated.
    """
    steps = sorted({round(seconds * task.rate_hz) for seconds in LAG_SECONDS})
    found = [lag for lag in steps if lag < task.window / 3]
    while len(found) > 1 and num_correlations(channels, found) > MAX_FEATURES:
        found.pop()
    return tuple(found)


def qp_wl(task, known, steps):
    """A network with a quantile layer, about to learn by the Wasserstein loss (Abdelwahab2019).

    Args:
        task: `keras_dml.training.own.task.Task`.
        known: `People` to train on.
        steps: Training steps.

    Returns:
        `Learner`.
    """
    walks = known.at_tempos(TEMPOS if task.has_gravity else (1,))
    most = int(np.clip(BATCH_STEPS // (2 * task.window), FEWEST_PAIRS, MOST_PAIRS))
    scale = np.concatenate(known.signals).std(axis=0)
    vary = functools.partial(_vary, scale=scale, has_gravity=task.has_gravity)
    batches = pairs(task, walks, most, steps, vary)
    front = _front(task, "both" if task.has_gravity else None)
    x = signal = keras.Input((None, len(task.channels)), name="signal")
    x = fronts.applied(front, x)
    halvings = int(np.clip(np.log2(task.rate_hz / HALVED_TO_HZ).round(), 0, 3))
    halvings = min(halvings, int(np.log2(task.window / 4)))
    encoder = sequence_encoder(x.shape[-1], halvings=halvings, halve_every=1)
    encoder.get_layer("normalization").adapt(fronts.outputs(front, task.to_adapt(known)))
    model = keras.Model(signal, fronts.applied(encoder.layers[1:], x), name="qp_wl")
    return Learner(
        model, model, batches, optimization(LEARNING_RATE, steps), {"loss": WassersteinLoss()}
    )


def pairs(task, known, most, steps, vary):
    """Batches of windows, two of each person, of different sessions where there are some.

    Args:
        task: `keras_dml.training.own.task.Task`.
        known: `keras_dml.training.People` to train on; who has one recording is left out.
        most: Most pairs of a batch.
        steps: Training steps.
        vary: Function of a batch and a `numpy.random.Generator` that augments it.

    Returns:
        `keras_dml.samplers.NPairSampler`.
    """
    known = known.at_least(task.window, 2)
    return NPairSampler(
        known.signals,
        known.subjects,
        pairs=min(most, len(set(known.subjects))),
        steps=min(STEPS_PER_EPOCH, steps),
        length=task.window,
        sessions=known.sessions,
        drop_singles=True,
        augment=vary,
        seed=task.seed,
    )


def _vary(batch, rng, scale, has_gravity):
    """People whom nobody recorded, and what differs between two windows of one."""
    if has_gravity:
        batch = augment.filter_pairs(batch, rng, FILTERING)
    else:
        batch = augment.mix_channels(batch / scale, rng, MIXING, together=0.5) * scale
    return augment.add_noise(augment.scale(batch, rng, GAIN), rng, NOISE * scale)


def _front(task, horizontal):
    if horizontal is None:
        return []
    lag = max(1, round(GRAVITY_LAG * task.rate_hz))
    return [GravityFrame(horizontal, lag=lag, name="gravity_frame")]
