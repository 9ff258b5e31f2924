"""How often 95 % intervals over people hold the figure of the population, by simulation.

python -m tests.bench.coverage

Two worlds of people who differ, see `tests/evaluation/worlds.py`. Each row has the coverage of the
percentile bootstrap that draws people, which came before, and of the intervals of
`evaluation.verification`, with the median ends of the latter.
"""

import argparse

import numpy as np
from scipy.integrate import trapezoid

from keras_dml import evaluation
from keras_dml.evaluation._bootstrap import Curves, percentiles, replicates, without_errors
from keras_dml.evaluation._equal_error_rate import crossing
from keras_dml.evaluation._thresholds import last_point_within
from tests.bench import smoke
from tests.evaluation import worlds

DRAWS, REPLICATES = 200, 200
PEOPLE = {10: 4, 25: 2, 100: 1}  # recordings of a person by the number of people
NAMES = ("eer", "auc", "tar_at_far_0.01")


def drawn_people(trials):
    """Intervals of `NAMES` by the percentile bootstrap that draws people."""
    scores, genuine = trials.scores.ravel(), trials.genuine.ravel()
    people = tuple(np.broadcast_to(side, trials.scores.shape).ravel() for side in trials.people)
    curves, figures = Curves(scores, genuine), []
    for weights in replicates(genuine, people=people, draws=REPLICATES, seed=0):
        far, tar = curves(weights)
        at_far = last_point_within(far, 0.01)[:, None]
        tar_at_far = np.take_along_axis(tar, at_far, axis=1)[:, 0]
        areas = trapezoid(tar, far, axis=1)
        figures.append(np.stack([crossing(far, tar)[0], areas, tar_at_far], axis=1))
    intervals = dict(zip(NAMES, percentiles(np.concatenate(figures)), strict=True))
    if evaluation.equal_error_rate(scores, genuine).rate == 0:
        most = without_errors(people, genuine)
        intervals = dict.fromkeys(NAMES, (1 - most, 1)) | {"eer": (0, most)}
    return intervals


def measure(world, eer, people, recordings):
    """Prints the coverage of each figure."""
    truth = worlds.truth(world, eer)
    truths = dict(zip(NAMES, (truth.eer, truth.auc, truth.tar), strict=True))
    before, after = ({name: [] for name in NAMES} for _ in range(2))
    for seed in range(DRAWS):
        trials = worlds.trials(world, eer, people, recordings, [seed, people])
        figures = evaluation.verification(*trials[:2], people=trials.people, bootstrap=REPLICATES)
        for intervals, ends in ((drawn_people(trials), before), (figures.intervals, after)):
            for name in NAMES:
                ends[name].append(intervals.get(name, (0.0, 1.0)))
    for name in NAMES:
        low, high = np.median(after[name], axis=0)
        print(
            f"| {world} | {100 * eer:g} % | {people} | {name} | "
            f"{held(before[name], truths[name])} | {held(after[name], truths[name])} | "
            f"{100 * truths[name]:.1f} | {100 * low:.1f} to {100 * high:.1f} |",
            flush=True,
        )


def held(intervals, value):
    """Share of intervals that hold a value, in words, with those that end below and above it."""
    low, high = np.transpose(intervals)
    return (
        f"{100 * np.mean((low <= value) & (value <= high)):.1f} % "
        f"(below {100 * np.mean(high < value):.1f}, above {100 * np.mean(low > value):.1f})"
    )


if __name__ == "__main__":
    smoke.parse(
        argparse.ArgumentParser(description=__doc__.splitlines()[0]),
        globals(),
        {"DRAWS": 2, "REPLICATES": 20, "PEOPLE": {10: 2}},
    )
    print(
        "| world | EER | people | figure | drawn people | weighted people | truth | median ends |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for count, each in PEOPLE.items():
        for simulated in worlds.SHIFTS:
            measure(*simulated, count, each)
