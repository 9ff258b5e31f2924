"""Made-up recordings of people, and an experiment on them that takes seconds."""

import contextlib
import functools

import numpy as np

from keras_dml.reproduce.wasserstein import plan, training
from keras_dml.reproduce.wasserstein.recordings import divide, recordings_of

SCALE = plan.Scale(
    people=None,
    seeds=2,
    steps=2,
    pairs=3,
    length=24,
    size="edge",
    narrower=64,
    learning_rates=(1e-3,),
    schedule="cosine",
    slope_l2=(0.0,),
    scaled=False,
    compared=(3, 6),
)


@contextlib.contextmanager
def step_by_step():
    """So few steps are sooner done than compiled."""
    fit = training.fit
    training.fit = functools.partial(fit, run_eagerly=True)
    try:
        yield
    finally:
        training.fit = fit


def arrays(people=16, takes=7, steps=32, films=False, seed=0):
    """Arguments of `recordings_of`: everybody oscillates in an own way, and looks at two points."""
    rng = np.random.default_rng(seed)
    time = np.arange(steps)
    found = {"signals": [], "subjects": [], "blocks": [], "gaze": []}
    for person in range(people):
        rate, size = rng.uniform(0.2, 1.5), rng.uniform(0.5, 3.0)
        for take in range(takes):
            phase = rng.uniform(0, 6)
            gaze = size * np.stack([np.sin(rate * time + phase), np.cos(rate * time)], axis=1)
            gaze += 0.1 * rng.normal(size=gaze.shape)
            found["gaze"].append(gaze)
            found["signals"].append(np.concatenate([gaze, gaze[:, :1] ** 2], axis=1))
            found["subjects"].append(f"p{person:02d}")
            found["blocks"].append(take if films else int(take >= takes // 2))
    return {**found, "rate_hz": 30.0, "films": films}


def division(**changed):
    return divide(recordings_of(**arrays(**changed)))
