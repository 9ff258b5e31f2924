"""Synthetic recordings of people, and settings of an experiment that takes seconds."""

import contextlib
import functools

import numpy as np

from zoo.papers.wasserstein import training
from zoo.papers.wasserstein.recordings import divide, make_recordings
from zoo.papers.wasserstein.settings import Settings

SETTINGS = Settings(
    people=None,
    seeds=2,
    steps=2,
    pairs=3,
    length=24,
    size="edge",
    width_divisor=64,
    learning_rates=(1e-3,),
    schedule="cosine",
    slope_l2=(0.0,),
    loss_scales=(1.0,),
    divergence_people=3,
    divergence_recordings=6,
)


@contextlib.contextmanager
def eager_training():
    """Trains eagerly, because compiling takes longer than a few steps."""
    fit = training.fit
    training.fit = functools.partial(fit, run_eagerly=True)
    try:
        yield
    finally:
        training.fit = fit


def arrays(people=16, takes=7, steps=32, films=False, seed=0):
    """Returns arguments of `make_recordings`: the signals of each person oscillate with one
    frequency and amplitude.
    """
    rng = np.random.default_rng(seed)
    time = np.arange(steps)
    result = {"signals": [], "subjects": [], "blocks": [], "gaze": []}
    for person in range(people):
        rate, size = rng.uniform(0.2, 1.5), rng.uniform(0.5, 3.0)
        for take in range(takes):
            phase = rng.uniform(0, 6)
            gaze = size * np.stack([np.sin(rate * time + phase), np.cos(rate * time)], axis=1)
            gaze += 0.1 * rng.normal(size=gaze.shape)
            result["gaze"].append(gaze)
            result["signals"].append(np.concatenate([gaze, gaze[:, :1] ** 2], axis=1))
            result["subjects"].append(f"p{person:02d}")
            result["blocks"].append(take if films else int(take >= takes // 2))
    return {**result, "rate_hz": 30.0, "films": films}


def division(**options):
    return divide(make_recordings(**arrays(**options)))
