"""Methods for sound, such as voices."""

from __future__ import annotations

import numpy as np
from scipy import fft

from keras_dml._backend import keras
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
from keras_dml.training.fronts import applied, outputs
from keras_dml.training.own import sequences
from keras_dml.training.own.methods import Learner, Method, optimization
from keras_dml.zoo import lookup, reading

LEVEL = 0.05  # root mean square that every recording is brought to, full scale 1
HOP_HZ = 200  # rates that frames of 25 and 10 ms divide
LOW_HZ, HIGH = 20.0, 0.475  # lowest band; highest, of the rate
# Of `zoo/voice_logcov_lda`.
BANDS, CEPSTRA, FRAMES = 60, 15, 48
FLOOR = 1e-2
LEAST = 0.5  # seconds that are kept of a recording in any case: enough for these frames
DISCRIMINANTS = 64
SPEEDS = (0.8, 0.9, 1.0, 1.1, 1.2)  # of voices; another speed is another body
NETWORK_BANDS, PAIRS, HALVINGS = 40, 32, 2
GAIN, NOISE, LEARNING_RATE = 0.3, 0.1, 3e-3

OF_VOICES, OF_VOICES_HZ = "voice_ge2e_sim", 16_000  # of the zoo

GE2E_PAPER = "Wan2018, Generalized End-to-End Loss for Speaker Verification"
GE2E_WEIGHTS = (
    "Resemblyzer 0.1.4, Apache license 2.0, converted. Trained on LibriSpeech and VoxCeleb 1 and "
    "2, not on your recordings."
)
LDA_PAPER = "linear discriminants of log-covariances of cepstra, a baseline of our own"


def methods(task):
    """The methods for a task, those in closed form first.

    Args:
        task: `keras_dml.training.own.task.Task`.

    Raises:
        ValueError: If the rate is none that frames of 10 ms divide.
    """
    if task.rate_hz % HOP_HZ:
        raise ValueError(
            f"Sound of {task.rate_hz:g} Hz cannot be divided into frames: the rate must be a "
            f"multiple of {HOP_HZ} Hz. Resample it to {OF_VOICES_HZ} Hz: `resample_hz` does it for "
            "files."
        )
    return [
        Method(
            "logcov",
            "log-Euclidean distance of covariances of cepstra, nothing trained",
            sequences.LOG_EUCLIDEAN_PAPER,
            lambda task, known: log_covariances(task),
            learns=False,
        ),
        *_of_voices(task),
        Method(
            "logcov_lda",
            "linear discriminants of covariances of cepstra, at five speeds",
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


def _of_voices(task):
    """The encoder of voices of the zoo, where it is installed and takes the rate."""
    if task.rate_hz != OF_VOICES_HZ or OF_VOICES not in lookup.names():
        return []
    encoder = ge2e()  # a damaged one is refused before anything is made; all groups share it
    return [
        Method(
            "ge2e",
            "an encoder of voices that other people have trained, nothing trained here",
            GE2E_PAPER,
            lambda task, known: encoder,
            learns=False,
            weights=GE2E_WEIGHTS,
        )
    ]


def ge2e():
    """The encoder of voices of the zoo, without the layers that were trained there."""
    encoder = reading.load(OF_VOICES).encoder
    audio = keras.Input((None, 1), name="audio")
    layers = [encoder.get_layer(name) for name in ("silence", "level", "embedding")]
    return keras.Model(audio, applied(layers, audio), name="ge2e")


def log_covariances(task):
    """A model that gives logarithms of covariances of the cepstra of frames with speech; nothing is
    trained.

    Args:
        task: `keras_dml.training.own.task.Task`.
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
        audio, applied([*_bands(task, BANDS, FRAMES), *rest], audio), name="log_covariances"
    )
    cosines = fft.dct(np.eye(BANDS), axis=1, norm="ortho")
    cepstra.set_weights([cosines[:, 1 : CEPSTRA + 1]])  # the first one is the level
    return model


def logcov_lda(task, known):
    """A model by linear discriminants of these logarithms.

    Args:
        task: `keras_dml.training.own.task.Task`.
        known: `keras_dml.training.People` to fit.
    """
    windows = task.to_fit(known, SPEEDS)
    return discriminants.of_features(
        log_covariances(task), windows.signals, windows.subjects, DISCRIMINANTS
    )


def qp_wl(task, known, steps):
    """A network on log-mel bands with a quantile layer, about to learn by the Wasserstein loss.

    Args:
        task: `keras_dml.training.own.task.Task`.
        known: `keras_dml.training.People` to train on.
        steps: Training steps.

    Returns:
        `Learner`.
    """
    batches = sequences.pairs(task, known.at_tempos(SPEEDS), PAIRS, steps, _vary)
    bands = _bands(task, NETWORK_BANDS, 1)
    audio = keras.Input((None, 1), name="audio")
    encoder = sequence_encoder(NETWORK_BANDS, halvings=HALVINGS, halve_every=1)
    encoder.get_layer("normalization").adapt(outputs(bands, task.to_adapt(known)))
    model = keras.Model(audio, applied([*bands, *encoder.layers[1:]], audio), name="logmel_qp_wl")
    return Learner(
        model, model, batches, optimization(LEARNING_RATE, steps), {"loss": WassersteinLoss()}
    )


def _vary(batch, rng):
    """Loudness, and noise of up to a tenth of the voice's."""
    noise = NOISE * rng.random((len(batch), 1, 1)) * batch.std(axis=1, keepdims=True)
    return augment.add_noise(augment.scale(batch, rng, GAIN), rng, noise)


def _bands(task, bands, min_frames):
    """Creates layers from sound to log-mel bands, whatever the loudness and the silence."""
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
