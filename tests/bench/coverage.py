"""Measures by simulation how often 95 % confidence intervals over people contain the true value.

python -m tests.bench.coverage
python -m tests.bench.coverage --fresh

The people come from the two simulated populations of `tests/evaluation/worlds.py`. Each row of the
table has the coverage of the percentile bootstrap over people, which earlier versions used. The row
also has the coverage of the intervals that `evaluation.verification` computes, and the medians of
their lower and upper ends.

With `--fresh`, the people come from the five simulated populations of
`tests/evaluation/fresh_worlds.py`, which were not used to tune any rule. The script then compares
the coverage and the median width of three kinds of intervals: the intervals of
`evaluation.verification` and `evaluation.accept_rates`, the percentile bootstrap, and the jackknife
over people. The jackknife intervals use the logit of the rate and Satterthwaite's t.
"""

import argparse

import numpy as np
from scipy.integrate import trapezoid
from scipy.special import expit, logit
from scipy.stats import t as student

from keras_dml import evaluation
from keras_dml.evaluation._error_curves import WeightedCurves, crossing, last_point_within
from keras_dml.evaluation._intervals import percentiles, rate_without_errors, replicates
from tests.bench import smoke
from tests.evaluation import fresh_worlds, worlds

DRAWS, REPLICATES = 200, 200
PEOPLE = {10: 4, 25: 2, 100: 1}  # from the number of people to the recordings per person
FRESH_PEOPLE = {10: 4, 25: 2, 50: 1}
FRESH_NAMES = ("EER", "AUC", "TAR at FAR 1 %", "FAR at a threshold", "TAR at a threshold")
RULES = ("weighted people", "drawn people", "jackknife")
NAMES = ("eer", "auc", "tar_at_far_0.01")


def drawn_people(trials):
    """Computes the intervals of the figures `NAMES` by the percentile bootstrap over people."""
    scores, genuine = trials.scores.ravel(), trials.genuine.ravel()
    people = tuple(np.broadcast_to(side, trials.scores.shape).ravel() for side in trials.people)
    curves, figures = WeightedCurves(scores, genuine), []
    for weights in replicates(genuine, people=people, draws=REPLICATES, seed=0):
        far, tar = curves(weights)
        at_far = last_point_within(far, 0.01)[:, None]
        tar_at_far = np.take_along_axis(tar, at_far, axis=1)[:, 0]
        areas = trapezoid(tar, far, axis=1)
        figures.append(np.stack([crossing(far, tar)[0], areas, tar_at_far], axis=1))
    intervals = dict(zip(NAMES, percentiles(np.concatenate(figures)), strict=True))
    if evaluation.equal_error_rate(scores, genuine).rate == 0:
        most = rate_without_errors(people, genuine)
        intervals = dict.fromkeys(NAMES, (1 - most, 1)) | {"eer": (0, most)}
    return intervals


def measure(world, eer, people, recordings):
    """Prints the coverage of the intervals of each figure."""
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
            f"{coverage_text(before[name], truths[name])} | "
            f"{coverage_text(after[name], truths[name])} | "
            f"{100 * truths[name]:.1f} | {100 * low:.1f} to {100 * high:.1f} |",
            flush=True,
        )


def measure_fresh(world, people, recordings):
    """Prints the coverage and the median width of each kind of interval, for each figure of a
    simulated population.
    """
    truth = fresh_worlds.truth(world, people)
    truths = (truth.eer, truth.auc, truth.tar, 0.01, truth.tar)
    ends = np.array(
        [
            intervals_of_rules(
                fresh_worlds.trials(world, people, recordings, [seed, people]), truth.threshold
            )
            for seed in range(DRAWS)
        ]
    )  # (draws, rules, figures, 2)
    low, high = np.moveaxis(ends, -1, 0)
    covered = 100 * ((low <= truths) & (truths <= high)).mean(axis=0)
    widths = 100 * np.median(high - low, axis=0)
    for i, name in enumerate(FRESH_NAMES):
        rules = " | ".join(
            f"{covered[rule, i]:.1f} | {widths[rule, i]:.1f}" for rule in range(len(RULES))
        )
        print(f"| {world} | {people} | {name} | {100 * truths[i]:.2f} | {rules} |", flush=True)
    return covered, widths


def intervals_of_rules(trials, threshold):
    """Computes the intervals of the figures `FRESH_NAMES` by each rule in `RULES`, shape `(rules,
    figures, 2)`.
    """
    verified = evaluation.verification(*trials[:2], people=trials.people, bootstrap=REPLICATES)
    rates = evaluation.accept_rates(
        *trials[:2], threshold, people=trials.people, bootstrap=REPLICATES
    )
    weighted = [verified.intervals.get(name, (0.0, 1.0)) for name in NAMES]
    weighted += [rates.far_ci95, rates.tar_ci95]
    scores, genuine = trials.scores.ravel(), trials.genuine.ravel()
    people = tuple(np.broadcast_to(side, trials.scores.shape).ravel() for side in trials.people)
    curves = WeightedCurves(scores, genuine)
    point = np.count_nonzero(np.unique(scores) <= threshold)
    drawn = percentiles(
        np.concatenate(
            [
                five_figures(*curves(weights), point)
                for weights in replicates(genuine, people=people, draws=REPLICATES, seed=0)
            ]
        )
    )
    values = five_figures(*curves(np.ones((1, scores.size))), point)[0]
    most = rate_without_errors(people, genuine)  # bound of a rate of 0, by the rule of three
    errs = values * [1, -1, -1, 1, -1] + [0, 1, 1, 0, 1] > 0
    bounds = [(0, most), (1 - most, 1), (1 - most, 1), (0, most), (1 - most, 1)]
    drawn = [
        seen if has_error else bound
        for seen, has_error, bound in zip(drawn, errs, bounds, strict=True)
    ]
    return weighted, drawn, jackknife(curves, genuine, people, point, values, errs)


def five_figures(far, tar, point):
    """Computes the figures `FRESH_NAMES` from error curves. `point` sets the threshold."""
    at_far = last_point_within(far, 0.01)[:, None]
    return np.stack(
        [
            crossing(far, tar)[0],
            trapezoid(tar, far, axis=1),
            np.take_along_axis(tar, at_far, axis=1)[:, 0],
            far[:, point],
            tar[:, point],
        ],
        axis=1,
    )


def jackknife(curves, genuine, people, point, values, errs):
    """Computes intervals by a jackknife over people. The intervals are symmetric on the logit scale
    and use Satterthwaite's t.

    If there are no errors, the intervals equal Clopper-Pearson intervals for the number of people.
    """
    count = int(people[1].max()) + 1
    left_out = np.arange(count)[:, None]
    weights = ((people[0] != left_out) & (people[1] != left_out)).astype(float)
    accepts, claims = genuine.sum(), (~genuine).sum()
    least = 0.5 / np.array([accepts, accepts * claims, accepts, claims, accepts])  # half a trial
    figures = logit(np.clip(five_figures(*curves(weights), point), least, 1 - least))
    squares = np.square(figures - figures.mean(axis=0))
    spread = np.sqrt((count - 1) / count * squares.sum(axis=0))
    freedom = squares.sum(axis=0) ** 2 / np.maximum(np.square(squares).sum(axis=0), 1e-300)
    reach = spread * student.ppf(0.975, np.clip(freedom, 1, count - 1))
    center = logit(np.clip(values, least, 1 - least))
    low, high = expit(center - reach), expit(center + reach)
    most = 1 - 0.025 ** (1 / count)
    is_rate = np.array([True, False, False, True, False])
    low = np.where(errs, low, np.where(is_rate, 0, 1 - most))
    high = np.where(errs, high, np.where(is_rate, most, 1))
    return np.stack([low, high], axis=1)


def coverage_text(intervals, value):
    """Formats three fractions as text: the intervals that contain a value, the intervals below the
    value, and the intervals above the value.
    """
    low, high = np.transpose(intervals)
    return (
        f"{100 * np.mean((low <= value) & (value <= high)):.1f} % "
        f"(below {100 * np.mean(high < value):.1f}, above {100 * np.mean(low > value):.1f})"
    )


def main():
    """Prints the table for the selected simulated populations."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--fresh", action="store_true", help="worlds that no rule was tuned on")
    asked = smoke.parse(
        options,
        globals(),
        {"DRAWS": 2, "REPLICATES": 20, "PEOPLE": {10: 2}, "FRESH_PEOPLE": {10: 2}},
    )
    if asked.fresh:
        print_fresh()
        return
    print(
        "| world | EER | people | figure | drawn people | weighted people | truth | median ends |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for count, each in PEOPLE.items():
        for simulated in worlds.SHIFTS:
            measure(*simulated, count, each)


def print_fresh():
    """Prints the table for the five populations of `--fresh`, and the mean of each figure over
    these populations.
    """
    columns = " | ".join(f"{rule}: covered % | width" for rule in RULES)
    print(f"| world | people | figure | truth % | {columns} |")
    print("| --- " * (4 + 2 * len(RULES)) + "|")
    results = [
        measure_fresh(world, count, each)
        for count, each in FRESH_PEOPLE.items()
        for world in fresh_worlds.SHIFTS
    ]
    covered, widths = np.mean(results, axis=0)
    least = np.min(results, axis=0)[0]
    for i, name in enumerate(FRESH_NAMES):
        rules = " | ".join(
            f"{covered[rule, i]:.1f} (least {least[rule, i]:.1f}) | {widths[rule, i]:.1f}"
            for rule in range(len(RULES))
        )
        print(f"| all | all | {name} | | {rules} |")


if __name__ == "__main__":
    main()
