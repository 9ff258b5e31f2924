"""Reads eye movements of people who watch films, from the data sets GazeCom and DIEM.

GazeCom contains recordings of one eye at 250 Hz. Fast, small movements distinguish the people in
GazeCom across films. At a quarter of the sampling rate much of the accuracy remains, and at 31 Hz
little remains. DIEM contains recordings of both eyes at 30 Hz, in pixels of a screen at an unknown
distance. The people in DIEM are distinguished by the size of their pupils and the relative position
of the two eyes. Resampling GazeCom to 30 Hz would remove the fast movements. Resampling DIEM to 250
Hz would interpolate most values. Therefore each data set is read at its own rate and needs its own
encoder.
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
# Velocities in degrees per second that the hyperbolic tangent maps to 0.76. The first scale is for
# drifts and tremor, and the second scale is for saccades. Jaeger2019 uses 50 for the slow part.
SCALES = (3.0, 50.0)
BEYOND = 3.0  # degrees outside of the screen, where the tracker is lost
SCREEN = np.array([1280.0, 960.0])  # of DIEM, pixels
OUTSIDE = 200.0  # pixels outside of the screen, where the tracker is lost
AROUND_BLINKS = 2  # frames before and after, in which the lid covers a part of the pupil


def one_eye(blocks=1):
    """Reads velocities of one eye from GazeCom, in degrees per second. The session of a recording
    is its film.

    Args:
        blocks: Number of successive gaze values that are averaged to one value, to lower the
            sampling rate.
    """
    watchers = People([], [], [])
    for records in people.read("gazecom_gaze/uniform").values():
        part = people.collect(records, lambda record: record["movie"].decode())
        gazes = [block_means(degrees(record), blocks) for record in records]
        part.signals = [velocities(gaze, RATE_HZ / blocks) for gaze in gazes]
        watchers += part
    return watchers


def examples(_):
    """Returns the windows of `one_eye` and the people who recorded them. The argument, the name of
    a split, is ignored, because the people are divided into folds.
    """
    windows = one_eye().windows(WINDOW)
    return windows.signals, windows.subjects


def known_recordings():
    """Returns windows of all people."""
    return one_eye().windows(WINDOW).signals


def degrees(record):
    """Converts the gaze of a record of GazeCom to visual angles from the middle of the screen.

    The result has shape `(time, 2)`. Values are NaN while the tracker does not see the eye.
    """
    pixels = np.array([record["width"], record["height"]])
    size = np.array([record["screen_width_m"], record["screen_height_m"]]) / record["distance_m"]
    angle = np.degrees(np.arctan((record["sequence"] / pixels - 0.5) * size))
    edge = np.degrees(np.arctan(size / 2)) + BEYOND
    return np.where((np.abs(angle) > edge).any(axis=1, keepdims=True), np.nan, angle)


def block_means(gaze, steps):
    """Averages blocks of successive gaze values. The result has shape `(time // steps, 2)`. The
    mean of a block is NaN if the tracker lost the eye during the block.
    """
    whole = gaze[: len(gaze) // steps * steps]
    return whole.reshape(-1, steps, 2).mean(axis=1)


def velocities(gaze, rate_hz):
    """Computes the velocity of a gaze at each step. The velocity is 0 if the tracker does not see
    the eye before or after the step.

    Args:
        gaze: Gaze positions, shape `(time, 2)`. Positions are NaN while the tracker does not see
            the eye.
        rate_hz: Gaze values per second.

    Returns:
        Velocities, shape `(time - 1, 2)`, float32. The unit is the unit of `gaze` per second.
    """
    change = rate_hz * np.diff(gaze, axis=0)
    seen = np.isfinite(change).all(axis=1, keepdims=True)
    return np.where(seen, change, 0.0).astype(np.float32)


def both_eyes():
    """Reads the movements of both eyes from DIEM, with channels `BOTH_CHANNELS`. The session of a
    recording is its film.
    """
    records = people.read("diem_gaze/all", "train")
    watchers = people.collect(records, lambda record: record["video"].decode())
    watchers.signals = [binocular(record["sequence"], record["event"]) for record in records]
    return watchers


def binocular(sequence, event):
    """Converts a recording of DIEM to the channels `BOTH_CHANNELS`. The channels of an eye are 0
    while the tracker does not see the eye.

    Args:
        sequence: Shape `(time, 6)`: x and y of the left eye and of the right eye, and the pupil of
            each eye.
        event: Shape `(time, 2)`. The first column is positive while the tracker sees the left eye,
            and the second column is positive while the tracker sees the right eye.

    Returns:
        Array `(time - 1, 10)`, float32. Each eye has four channels: two velocities in pixels per
        second, the logarithm of the pupil's size in thousands of the tracker's units, and a channel
        that is 1 while the tracker sees the eye. The last two channels are the position of the left
        eye's gaze minus the position of the right eye's gaze, in pixels.
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
    """Keeps one eye in the recordings of `both_eyes`. The recordings look as if the tracker had not
    seen the other eye.

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
    """Bounds velocities at several scales, so that the result depends on small movements in
    addition to saccades.

    Args:
        velocity: Tensor `(batch, time, channels)`.
        scales: Velocities that the hyperbolic tangent maps to 0.76, in the unit of the input.

    Returns:
        Tensor `(batch, time, channels * scales)`.
    """
    bounded = [
        keras.layers.Activation("tanh")(keras.layers.Rescaling(1 / scale)(velocity))
        for scale in scales
    ]
    return keras.layers.Concatenate()(bounded)


def _widened(lost, steps):
    around = np.ones(2 * steps + 1)
    return np.convolve(lost, around, mode="same") > 0
