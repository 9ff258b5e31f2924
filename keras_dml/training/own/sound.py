"""Defines methods for audio, such as voices."""

from __future__ import annotations

import numpy as np
from scipy import fft

from keras_dml._backend import keras
from keras_dml._messages import Message
from keras_dml.layers import (
    Covariance,
    InstanceStandardization,
    LogEig,
    LogMel,
    SilenceRemoval,
    TangentVector,
    VoiceActivity,
)
from keras_dml.losses import WassersteinLoss
from keras_dml.models import sequence_encoder
from keras_dml.training import augment, discriminants
from keras_dml.training.fronts import apply, outputs
from keras_dml.training.own import sequences
from keras_dml.training.own.methods import Learner, Method, optimization
from keras_dml.training.own.task import Task
from keras_dml.training.people import People
from keras_dml.zoo import lookup, reading

LEVEL = 0.05  # root mean square to which each recording is scaled, with full scale 1
HOP_HZ = 200  # frames of 25 and 10 ms are whole steps if the rate is a multiple of this
LOW_HZ, HIGH = 20.0, 0.475  # lowest frequency; highest frequency as a fraction of the rate
# The following values are the same as in `zoo/voice_logcov_lda`.
BANDS, CEPSTRA, FRAMES = 60, 15, 48
FLOOR = 1e-2
LEAST = 0.5  # seconds of a recording that are always kept when silence is removed
DISCRIMINANTS = 64
SPEEDS = (0.8, 0.9, 1.0, 1.1, 1.2)  # a recording at another speed simulates another person
NETWORK_BANDS, PAIRS, HALVINGS = 40, 32, 2
GAIN, NOISE, LEARNING_RATE = 0.3, 0.1, 3e-3

ZOO_ENCODER, ZOO_ENCODER_HZ = "voice_ge2e_sim", 16_000

GE2E_PAPER = "Wan2018, Generalized End-to-End Loss for Speaker Verification"
GE2E_WEIGHTS = (
    "The weights are converted from Resemblyzer 0.1.4 (Apache license 2.0). They were trained on "
    "LibriSpeech and VoxCeleb 1 and 2, not on your recordings."
)
LDA_PAPER = (
    "linear discriminant analysis of log-covariances between cepstra, a baseline of keras-dml"
)


def methods(task: Task) -> list[Method]:
    """Returns the methods for a task. The closed-form methods come first.

    Raises:
        ValueError: If frames of 10 ms are not a whole number of steps at the task's rate.
    """
    if task.rate_hz % HOP_HZ:
        raise ValueError(
            Message(
                "The sound has {rate:g} Hz, but it can only be divided into frames if its rate is "
                "a multiple of {multiple} Hz. Resample it to {encoder} Hz. For files, set "
                "{resample_hz}.",
                rate=task.rate_hz,
                multiple=HOP_HZ,
                encoder=ZOO_ENCODER_HZ,
            )
        )
    return [
        Method(
            "logcov",
            "log-Euclidean distance between covariances of cepstra, without training",
            sequences.LOG_EUCLIDEAN_PAPER,
            lambda task, people: log_covariances(task),
            learns=False,
        ),
        *_zoo_methods(task),
        Method(
            "logcov_lda",
            "linear discriminant analysis of covariances of cepstra, at five speeds",
            LDA_PAPER,
            logcov_lda,
        ),
        Method(
            "logmel_qp_wl",
            "quantile layer and Wasserstein loss on log-mel bands, at five speeds",
            sequences.QP_WL_PAPER,
            learner=qp_wl,
        ),
    ]


def _zoo_methods(task):
    """Returns the zoo's encoder of voices, if it is installed and accepts the rate of the task."""
    if task.rate_hz != ZOO_ENCODER_HZ or ZOO_ENCODER not in lookup.names():
        return []
    encoder = ge2e()  # loaded now so that a damaged file fails first; all groups share it
    return [
        Method(
            "ge2e",
            "an encoder of voices that was trained on other recordings, without further training",
            GE2E_PAPER,
            lambda task, people: encoder,
            learns=False,
            weights=GE2E_WEIGHTS,
        )
    ]


def ge2e() -> keras.Model:
    """Loads the zoo's encoder of voices without the layers that were trained for the zoo."""
    encoder = reading.load(ZOO_ENCODER).encoder
    audio = keras.Input((None, 1), name="audio")
    layers = [encoder.get_layer(name) for name in ("silence", "level", "embedding")]
    return keras.Model(audio, apply(layers, audio), name="ge2e")


def log_covariances(task: Task) -> keras.Model:
    """Returns a model without trained weights that computes log-covariances of cepstra.

    The covariances use only frames with speech.
    """
    cepstra = keras.layers.Dense(CEPSTRA, use_bias=False, name="cepstra")
    rest = [
        VoiceActivity(name="speech"),
        cepstra,
        Covariance(name="covariance"),
        LogEig(FLOOR, name="logarithm"),
        TangentVector(name="statistics"),
    ]
    audio = keras.Input((None, 1), name="audio")
    model = keras.Model(
        audio, apply([*_bands(task, BANDS, FRAMES), *rest], audio), name="log_covariances"
    )
    cosines = fft.dct(np.eye(BANDS), axis=1, norm="ortho")
    # drops the first cepstral coefficient, which is the level
    cepstra.set_weights([cosines[:, 1 : CEPSTRA + 1]])
    return model


def logcov_lda(task: Task, people: People) -> keras.Model:
    """Fits linear discriminants (LDA) to the outputs of `log_covariances`.

    Args:
        task: Task of the training.
        people: `People` with the recordings that the discriminants are fitted to.
    """
    windows = task.to_fit(people, SPEEDS)
    return discriminants.discriminant_model(
        log_covariances(task), windows.signals, windows.subjects, DISCRIMINANTS
    )


def qp_wl(task: Task, people: People, steps: int) -> Learner:
    """Creates a network with a quantile layer on log-mel bands, to be trained with the Wasserstein
    loss.

    Args:
        task: Task of the training.
        people: `People` with the recordings to train on.
        steps: Number of training steps.
    """
    batches = sequences.pairs(task, people.at_tempos(SPEEDS), PAIRS, steps, _vary)
    bands = _bands(task, NETWORK_BANDS, 1)
    audio = keras.Input((None, 1), name="audio")
    encoder = sequence_encoder(NETWORK_BANDS, halvings=HALVINGS, halve_every=1)
    encoder.get_layer("normalization").adapt(outputs(bands, task.to_adapt(people)))
    model = keras.Model(audio, apply([*bands, *encoder.layers[1:]], audio), name="logmel_qp_wl")
    return Learner(
        model, model, batches, optimization(LEARNING_RATE, steps), {"loss": WassersteinLoss()}
    )


def _vary(batch, rng):
    """Augments a batch with random loudness, and with noise up to a tenth of the voice's level."""
    noise = NOISE * rng.random((len(batch), 1, 1)) * batch.std(axis=1, keepdims=True)
    return augment.add_noise(augment.scale(batch, rng, GAIN), rng, noise)


def _bands(task, bands, min_frames):
    """Creates layers that remove silence, normalize the loudness and compute log-mel bands."""
    return [
        SilenceRemoval(int(task.rate_hz), least=round(LEAST * task.rate_hz), name="silence"),
        InstanceStandardization(epsilon=1e-10, name="unit_level"),
        keras.layers.Rescaling(LEVEL, name="level"),
        LogMel(
            bands,
            rate=int(task.rate_hz),
            low=LOW_HZ,
            high=HIGH * task.rate_hz,
            min_frames=min_frames,
            name="log_mel",
        ),
    ]
