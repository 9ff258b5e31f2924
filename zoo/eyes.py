"""Reads eye movements of people who watch films, from two data sets that need two encoders.

GazeCom has one eye at 250 Hz. Its people are recognized across films by fast, small movements: at a
quarter of the rate much of the accuracy remains, and at 31 Hz little remains. DIEM has 30 values
per second of
both eyes, in pixels of a screen at an unknown distance. Its people are recognized by the size of
their pupils and the relative position of the two eyes. At 30 Hz GazeCom would lose its information,
and at 250 Hz DIEM would be interpolated. So each data set is read at its own rate.
"""

import numpy as np

from keras_dml._backend import keras
from keras_dml.training import People
from zoo import people

RATE_HZ, WINDOW = 250, 2350  # 9.4 s, two in a film
BOTH_RATE_HZ, BOTH_WINDOW = 30, 300
CHANNELS = ("horizontal velocity", "vertical velocity")
BOTH_CHANNELS = (
    *(f"{eye} {what}" for eye in ("left", "right") for what in ("vx", "vy", "pupil", "seen")),
    "disparity x",
    "disparity y",
)
OF_EYE = {"left": (0, 1, 2, 3), "right": (4, 5, 6, 7)}
# Degrees per second that a hyperbolic tangent turns to .76: drifts and tremor, then saccades
# (Jaeger2019 has 50 for the slow part).
SCALES = (3.0, 50.0)
BEYOND = 3.0  # degrees outside of the screen, where the tracker is lost
SCREEN = np.array([1280.0, 960.0])  # of DIEM, pixels
OUTSIDE = 200.0  # pixels outside of the screen, where the tracker is lost
AROUND_BLINKS = 2  # frames before and after, in which the lid covers a part of the pupil


def one_eye(blocks=1):
    """Reads velocities of one eye from GazeCom, in degrees per second. The session is the film.

    Args:
        blocks: Number of successive gaze values that are averaged to one value, for a lower rate.
    """
    watchers = People([], [], [])
    for records in people.read("gazecom_gaze/uniform").values():
        part = people.collect(records, lambda record: record["movie"].decode())
        gazes = [block_means(degrees(record), blocks) for record in records]
        part.signals = [velocities(gaze, RATE_HZ / blocks) for gaze in gazes]
        watchers += part
    return watchers


def examples(_):
    """Returns windows of `one_eye` and their people. The split is ignored, because folds divide the
    people.
    """
    windows = one_eye().windows(WINDOW)
    return windows.signals, windows.subjects


def known_recordings():
    """Returns windows of all people."""
    return one_eye().windows(WINDOW).signals


def degrees(record):
    """Converts the gaze of a record of GazeCom to visual angles from the middle of the screen.

    The shape is `(time, 2)`; values are NaN while the eye is lost.
    """
    pixels = np.array([record["width"], record["height"]])
    size = np.array([record["screen_width_m"], record["screen_height_m"]]) / record["distance_m"]
    angle = np.degrees(np.arctan((record["sequence"] / pixels - 0.5) * size))
    edge = np.degrees(np.arctan(size / 2)) + BEYOND
    return np.where((np.abs(angle) > edge).any(axis=1, keepdims=True), np.nan, angle)


def block_means(gaze, steps):
    """Averages blocks of a gaze, shape `(time // steps, 2)`, NaN if a block lacks the eye."""
    whole = gaze[: len(gaze) // steps * steps]
    return whole.reshape(-1, steps, 2).mean(axis=1)


def velocities(gaze, rate_hz):
    """Computes velocities of a gaze, zero if the eye is lost before or after the step.

    Args:
        gaze: Shape `(time, 2)`, NaN where the eye is lost.
        rate_hz: Values per second.

    Returns:
        Shape `(time - 1, 2)`, in units of the gaze per second, float32.
    """
    change = rate_hz * np.diff(gaze, axis=0)
    seen = np.isfinite(change).all(axis=1, keepdims=True)
    return np.where(seen, change, 0.0).astype(np.float32)


def both_eyes():
    """Reads both eyes of the people of DIEM, channels `BOTH_CHANNELS`. The session of a recording
    is its film.
    """
    records = people.read("diem_gaze/all", "train")
    watchers = people.collect(records, lambda record: record["video"].decode())
    watchers.signals = [binocular(record["sequence"], record["event"]) for record in records]
    return watchers


def binocular(sequence, event):
    """Converts a recording of DIEM to the channels `BOTH_CHANNELS`, zero while an eye is lost.

    Args:
        sequence: Shape `(time, 6)`: x and y of the left eye and of the right eye, and the pupil of
            each eye.
        event: Shape `(time, 2)`, positive at time steps at which the tracker sees the left or right
            eye.

    Returns:
        Shape `(time - 1, 10)`, float32: velocities in pixels per second, logarithms of pupils in
        thousands of the tracker's units, 1 at time steps at which the eye is seen, and the position
        of the left eye minus the position of the right eye in pixels.
    """
    eyes, gazes = [], []
    for eye in range(2):
        gaze, pupil = sequence[:, 2 * eye : 2 * eye + 2], sequence[:, 4 + eye]
        seen = event[:, eye] > 0
        seen &= (pupil > 0) & (gaze > -OUTSIDE).all(axis=1) & (gaze < SCREEN + OUTSIDE).all(axis=1)
        seen = ~_widened(~seen, AROUND_BLINKS)
        gaze = np.where(seen[:, None], gaze, np.nan)
        size = np.log(np.where(seen, pupil, 1000.0) / 1000)
        eyes += [velocities(gaze, BOTH_RATE_HZ), np.stack([size, seen], axis=1)[1:]]
        gazes.append(gaze[1:])
    disparity = np.nan_to_num(gazes[0] - gazes[1])
    return np.concatenate([*eyes, disparity], axis=1).astype(np.float32)


def of_eye(signals, eye):
    """Returns the recordings of `both_eyes` as if the other eye had been lost.

    Args:
        signals: List of arrays `(time, 10)`.
        eye: `"left"` or `"right"`.
    """
    is_eye = np.isin(np.arange(len(BOTH_CHANNELS)), OF_EYE[eye])
    return [np.where(is_eye, signal, np.float32(0)) for signal in signals]


def of_several_films(watchers):
    """Removes people who watched only one film."""
    films = {name: set() for name in watchers.subjects}
    for subject, film in zip(watchers.subjects, watchers.sessions, strict=True):
        films[subject].add(film)
    return watchers.select({name for name, seen in films.items() if len(seen) > 1})


def slow_and_fast(velocity, scales=SCALES):
    """Bounds velocities at several scales, so that small movements count in addition to saccades.

    Args:
        velocity: Tensor `(batch, time, channels)`.
        scales: Velocities that are mapped to .76 (by a hyperbolic tangent), in the unit of the
            input.

    Returns:
        Tensor `(batch, time, channels times scales)`.
    """
    bounded = [
        keras.layers.Activation("tanh")(keras.layers.Rescaling(1 / scale)(velocity))
        for scale in scales
    ]
    return keras.layers.Concatenate()(bounded)


def _widened(lost, steps):
    around = np.ones(2 * steps + 1)
    return np.convolve(lost, around, mode="same") > 0
