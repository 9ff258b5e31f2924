"""Eye movements of people who watch films: two data sets that one encoder cannot honestly share.

GazeCom has one eye at 250 Hz. What tells its people apart across films is in the fast, small
movements (at a quarter of the rate much is left, at 31 Hz little). DIEM has 30 values a second of
both eyes, in pixels of a screen whose distance is not in the files; what tells its people apart is
the size of their pupils and how the two eyes lie to each other. At 30 Hz the first set loses what
it has, at 250 Hz the second would be made up, so each is read as it is.
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
    """Velocities of one eye of the people of GazeCom, degrees per second; the session is the film.

    Args:
        blocks: Values of the gaze that are averaged to one, for a lower rate.
    """
    watchers = People([], [], [])
    for records in people.read("gazecom_gaze/uniform").values():
        part = people.collect(records, lambda record: record["movie"].decode())
        gazes = [block_means(degrees(record), blocks) for record in records]
        part.signals = [velocities(gaze, RATE_HZ / blocks) for gaze in gazes]
        watchers += part
    return watchers


def examples(_):
    """Windows of `one_eye` and their people, whatever the split: folds divide the people."""
    windows = one_eye().windows(WINDOW)
    return windows.signals, windows.subjects


def known_recordings():
    """Windows of everybody."""
    return one_eye().windows(WINDOW).signals


def degrees(record):
    """Gaze of a record of GazeCom as visual angle from the middle of the screen, shape `(time, 2)`;
    NaN where the eye is lost."""
    pixels = np.array([record["width"], record["height"]])
    size = np.array([record["screen_width_m"], record["screen_height_m"]]) / record["distance_m"]
    angle = np.degrees(np.arctan((record["sequence"] / pixels - 0.5) * size))
    edge = np.degrees(np.arctan(size / 2)) + BEYOND
    return np.where((np.abs(angle) > edge).any(axis=1, keepdims=True), np.nan, angle)


def block_means(gaze, steps):
    """Means of blocks of a gaze, shape `(time // steps, 2)`; NaN where the eye is lost in one."""
    whole = gaze[: len(gaze) // steps * steps]
    return whole.reshape(-1, steps, 2).mean(axis=1)


def velocities(gaze, rate_hz):
    """Velocities of a gaze, zero where the eye is lost before or after.

    Args:
        gaze: Shape `(time, 2)`, NaN where the eye is lost.
        rate_hz: Values a second.

    Returns:
        Shape `(time - 1, 2)`, in units of the gaze per second, float32.
    """
    change = rate_hz * np.diff(gaze, axis=0)
    seen = np.isfinite(change).all(axis=1, keepdims=True)
    return np.where(seen, change, 0.0).astype(np.float32)


def both_eyes():
    """Both eyes of the people of DIEM, channels `BOTH_CHANNELS`; the session is the film."""
    records = people.read("diem_gaze/all", "train")
    watchers = people.collect(records, lambda record: record["video"].decode())
    watchers.signals = [binocular(record["sequence"], record["event"]) for record in records]
    return watchers


def binocular(sequence, event):
    """A recording of DIEM in the channels `BOTH_CHANNELS`, zero where an eye is lost.

    Args:
        sequence: Shape `(time, 6)`, x and y of the left and the right eye, pupils of both.
        event: Shape `(time, 2)`, positive where an eye is seen.

    Returns:
        Shape `(time - 1, 10)`, float32: velocities in pixels per second, logarithms of pupils in
        thousands of the tracker's units, 1 where the eye is seen, left less right in pixels.
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
    """The recordings of `both_eyes` as if the other eye had been lost.

    Args:
        signals: List of arrays `(time, 10)`.
        eye: `"left"` or `"right"`.
    """
    is_eye = np.isin(np.arange(len(BOTH_CHANNELS)), OF_EYE[eye])
    return [np.where(is_eye, signal, np.float32(0)) for signal in signals]


def of_several_films(watchers):
    """Without people who were recorded with one film."""
    films = {name: set() for name in watchers.subjects}
    for subject, film in zip(watchers.subjects, watchers.sessions, strict=True):
        films[subject].add(film)
    return watchers.select({name for name, seen in films.items() if len(seen) > 1})


def slow_and_fast(velocity, scales=SCALES):
    """Velocities bounded at several scales, so that small movements count beside saccades.

    Args:
        velocity: Tensor `(batch, time, channels)`.
        scales: Velocities that become .76, in the unit of the input.

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
