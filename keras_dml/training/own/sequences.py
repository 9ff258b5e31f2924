"""Defines methods for recordings with few channels, such as motion, and for events."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from keras_dml._backend import keras
from keras_dml.geometry.signals.correlation import num_correlations
from keras_dml.layers import (
    ChannelNormalization,
    Covariance,
    GravityFrame,
    LogEig,
    QuantileLayer,
    TangentVector,
)
from keras_dml.losses import WassersteinLoss
from keras_dml.models import sequence_encoder
from keras_dml.samplers import NPairSampler
from keras_dml.training import augment, discriminants, fronts
from keras_dml.training.own.methods import Learner, Method, optimization
from keras_dml.training.own.task import Task
from keras_dml.training.people import People

# The values come from walks at 25 and 100 Hz, see `zoo/phone_baselines.py` and `zoo/gait_lda`.
LAG_SECONDS = (0.0, 0.04, 0.08, 0.16, 0.32, 0.64)
LAG_EVENTS = (0, 1, 2, 4, 8)
DISCRIMINANTS, MAX_FEATURES = 64, 2000
TEMPOS = (0.85, 0.92, 1.0, 1.08, 1.16)  # factors by which the walking speed changes
GRAVITY_LAG = 0.12  # seconds, see the layer `GravityFrame`
KNOTS = 16  # the default of `QuantileLayer`, as in the network
NORMAL_IQR = 1.349  # interquartile range of a normal distribution, in standard deviations
LEARNING_RATE = 3e-3
STEPS_PER_EPOCH = 25
BATCH_STEPS = 32_000  # total number of time steps in a batch
MOST_PAIRS, FEWEST_PAIRS = 64, 8
HALVED_TO_HZ = 7.0  # target rate of repeated halving; walks recorded at 25 Hz are halved twice
GAIN, NOISE, FILTERING, MIXING = 0.03, 0.03, 0.3, 0.3

LDA_PAPER = (
    "linear discriminant analysis of lagged correlations, a closed-form baseline of keras-dml"
)
LOG_EUCLIDEAN_PAPER = (
    "log-Euclidean distance between covariances (Kim2020, Eq. 4), without training"
)
QUANTILES_PAPER = "Wasserstein distance of quantile functions (Abdelwahab2019, Eq. 9), not trained"
QUANTILE_LDA_PAPER = (
    "linear discriminant analysis of quantiles, a closed-form baseline of keras-dml"
)
QP_WL_PAPER = "Abdelwahab2019, Eqs. 2, 9, 13 (arXiv 1912.01933)"
IN_FRAME = ", in the frame of gravity"


def methods(task: Task) -> list[Method]:
    """Returns the methods for a task. The closed-form methods come first.

    With too few people, the model uses the last method that does not learn from people's
    identities. This method is `quantiles` for events, and compares covariances for other
    recordings.
    """
    frame = IN_FRAME if task.has_gravity else ""
    of_quantiles = [
        Method(
            "quantiles",
            f"Wasserstein distance between the quantiles of each channel{frame}, without training",
            QUANTILES_PAPER,
            quantiles,
            learns=False,
        ),
        Method(
            "quantile_lda",
            f"linear discriminants of the quantiles of each channel{frame}",
            QUANTILE_LDA_PAPER,
            quantile_discriminants,
        ),
    ]
    of_correlations = [
        as_recorded(),
        Method(
            "lda",
            "linear discriminants of lagged correlations",
            LDA_PAPER,
            functools.partial(linear_discriminants, in_frame=False),
        ),
    ]
    if task.has_gravity:
        of_correlations += [
            Method(
                "gravity_log_euclidean",
                f"log-Euclidean distance between covariances{frame}, without training",
                LOG_EUCLIDEAN_PAPER,
                functools.partial(log_euclidean, in_frame=True),
                learns=False,
            ),
            Method(
                "gravity_lda",
                f"linear discriminant analysis of lagged correlations{frame}, at five tempos",
                LDA_PAPER,
                functools.partial(linear_discriminants, in_frame=True),
            ),
        ]
    are_events = task.rate_hz is None
    closed_forms = of_correlations + of_quantiles if are_events else of_quantiles + of_correlations
    what = f"quantile layer and Wasserstein loss{frame}"
    return [*closed_forms, Method("qp_wl", what, QP_WL_PAPER, learner=qp_wl)]


def as_recorded() -> Method:
    """Returns a method without training that compares covariances of the recorded channels."""
    return Method(
        "log_euclidean",
        "log-Euclidean distance between covariances, without training",
        LOG_EUCLIDEAN_PAPER,
        functools.partial(log_euclidean, in_frame=False),
        learns=False,
    )


def log_euclidean(task: Task, people: People, in_frame: bool) -> keras.Model:
    """Returns a model that compares covariances by the log-Euclidean distance.

    Args:
        task: Task of the training.
        people: `People` with the recordings whose statistics normalize the channels.
        in_frame: Whether acceleration is first rotated into the frame of gravity.
    """
    front = _front(task, "axes" if in_frame else None)
    normalization = ChannelNormalization(name="normalization")
    normalization.adapt(fronts.outputs(front, task.to_adapt(people)))
    x = signal = keras.Input((None, len(task.channels)), name="signal")
    rest = Covariance("oas", name="covariance"), LogEig(), TangentVector(name="embedding")
    x = fronts.apply([*front, normalization, *rest], x)
    return keras.Model(signal, x, name="log_euclidean")


def linear_discriminants(task: Task, people: People, in_frame: bool) -> keras.Model:
    """Fits linear discriminant analysis (LDA) to lagged correlations between channels.

    Args:
        task: Task of the training.
        people: `People` with the recordings that the discriminants are fitted to.
        in_frame: Whether acceleration is first rotated into the frame of gravity. If True, walks at
            other speeds are added as additional people.
    """
    windows = task.to_fit(people, TEMPOS if in_frame else (1,))
    front = _front(task, "both" if in_frame else None)
    channels = 4 if in_frame else len(task.channels)
    return discriminants.correlation_model(
        np.stack(windows.signals),
        windows.subjects,
        lags(task, channels),
        DISCRIMINANTS,
        adapt_to=task.to_adapt(people),
        front=front,
    )


def quantiles(task: Task, people: People) -> keras.Model:
    """Returns a model that compares the distribution of each channel by the Wasserstein distance.

    Only the normalization of the channels is fitted. Each channel is normalized by its median and
    its interquartile range, and bounded by the hyperbolic tangent. Without the bounds, a single
    long pause between two events exceeds all other differences. For 150 people who typed (windows
    of 32 key presses, nine channels), the equal error rate was 25 % with the mean and the standard
    deviation, and 12 % with the median, the interquartile range and the bounds.

    Args:
        task: Task of the training.
        people: `People` with the recordings whose statistics normalize the channels.
    """
    return _quantile_model(task, people, flatten=False)


def quantile_discriminants(task: Task, people: People) -> keras.Model:
    """Fits linear discriminant analysis (LDA) to the quantiles of each channel.

    Args:
        task: Task of the training.
        people: `People` with the recordings that the discriminants are fitted to.
    """
    windows = task.to_fit(people)
    return discriminants.discriminant_model(
        _quantile_model(task, people, flatten=True),
        np.stack(windows.signals),
        windows.subjects,
        DISCRIMINANTS,
    )


def _quantile_model(task, people, flatten):
    front = _front(task, "both" if task.has_gravity else None)
    normalization = ChannelNormalization(name="normalization")
    recordings = fronts.outputs(front, task.to_adapt(people))
    normalization.adapt(recordings)
    low, middle, high = np.quantile(np.concatenate(recordings), (0.25, 0.5, 0.75), axis=0)
    stddev = np.asarray(normalization.stddev)  # for flags that are rarely 1
    normalization.mean.assign(middle)
    normalization.stddev.assign(np.where(high > low, (high - low) / NORMAL_IQR, stddev))
    bounds = keras.layers.Activation("tanh", name="bounds")
    signal = keras.Input((None, len(task.channels)), name="signal")
    head = QuantileLayer(KNOTS, flatten=flatten, name="quantiles" if flatten else "embedding")
    return keras.Model(
        signal, fronts.apply([*front, normalization, bounds, head], signal), name="quantiles"
    )


def lags(task: Task, channels: int) -> tuple[int, ...]:
    """Returns lags in steps. All lags are shorter than a third of a window.

    The longest lags are dropped until the number of correlations is at most `MAX_FEATURES`.

    Args:
        task: Task of the training.
        channels: Number of correlated channels.
    """
    steps = list(LAG_EVENTS)
    if task.rate_hz is not None:
        steps = sorted({round(seconds * task.rate_hz) for seconds in LAG_SECONDS})
    steps = [lag for lag in steps if lag < task.window / 3]
    while len(steps) > 1 and num_correlations(channels, steps) > MAX_FEATURES:
        steps.pop()
    return tuple(steps)


def qp_wl(task: Task, people: People, steps: int) -> Learner:
    """Creates a network with a quantile layer and the Wasserstein loss (Abdelwahab2019).

    Args:
        task: Task of the training.
        people: `People` with the recordings to train on.
        steps: Number of training steps.
    """
    walks = people.at_tempos(TEMPOS if task.has_gravity else (1,))
    most = int(np.clip(BATCH_STEPS // (2 * task.window), FEWEST_PAIRS, MOST_PAIRS))
    scale = np.concatenate(people.signals).std(axis=0)
    vary = functools.partial(_vary, scale=scale, has_gravity=task.has_gravity)
    batches = pairs(task, walks, most, steps, vary)
    front = _front(task, "both" if task.has_gravity else None)
    x = signal = keras.Input((None, len(task.channels)), name="signal")
    x = fronts.apply(front, x)
    halvings = 0  # neighboring events differ
    if task.rate_hz is not None:
        halvings = int(np.clip(np.log2(task.rate_hz / HALVED_TO_HZ).round(), 0, 3))
        halvings = min(halvings, int(np.log2(task.window / 4)))
    encoder = sequence_encoder(x.shape[-1], halvings=halvings, halve_every=1)
    encoder.get_layer("normalization").adapt(fronts.outputs(front, task.to_adapt(people)))
    model = keras.Model(signal, fronts.apply(encoder.layers[1:], x), name="qp_wl")
    return Learner(
        model, model, batches, optimization(LEARNING_RATE, steps), {"loss": WassersteinLoss()}
    )


def pairs(
    task: Task, people: People, most: int, steps: int, vary: Callable[..., Any]
) -> NPairSampler:
    """Creates batches with two windows of each person, from different sessions if possible.

    Args:
        task: Task of the training.
        people: `People` with the recordings to train on. People with only one recording are left
            out.
        most: Largest number of pairs per batch.
        steps: Number of training steps.
        vary: Function that augments a batch, given the batch and a `numpy.random.Generator`.
    """
    people = people.at_least(task.window, 2)
    return NPairSampler(
        people.signals,
        people.subjects,
        pairs=min(most, len(set(people.subjects))),
        steps=min(STEPS_PER_EPOCH, steps),
        length=task.window,
        sessions=people.sessions,
        drop_singles=True,
        augment=vary,
        seed=task.seed,
    )


def _vary(batch, rng, scale, has_gravity):
    """Augments a batch by simulating new people and differences between two windows of a person."""
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
