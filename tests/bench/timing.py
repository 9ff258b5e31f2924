"""Contains functions that time the candidates of a benchmark in turn and print tables."""

import argparse
import os
import time
from dataclasses import dataclass

import numpy as np

WARM_UP_ROUNDS = 2  # for tracing, page faults and thread pools
PAUSE_SECONDS = 0.05  # pause in which the threads of the previous candidate go to sleep


@dataclass
class Row:
    """Row of the table with two candidates and the largest allowed ratio of their times."""

    name: str
    against: str | None = None
    bound: float | None = None


def parser(description, repeats):
    """Returns a parser with the options of every benchmark."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument(
        "--repeats", type=int, default=repeats, help=f"rounds timed, at least 5 (default {repeats})"
    )
    return options


def add_cpu_time(options, help):
    """Adds the option `--cpu-time`, for comparisons on a busy machine."""
    options.add_argument("--cpu-time", action="store_true", help=help)


def add_torch(options):
    """Adds the options that comparisons with PyTorch need: the interpreter and the kind of time."""
    add_cpu_time(options, "processor time of one thread on either side, for a busy machine")
    options.add_argument(
        "--torch",
        metavar="PYTHON",
        help="interpreter of an environment that has PyTorch; without it only our side is timed",
    )


def add_steps(options):
    """Adds the option for the number of consecutive steps. Several steps are timed together if a
    step takes less time than waking threads.
    """
    options.add_argument(
        "--steps",
        type=int,
        default=10,
        help="consecutive steps of a round, as in a training (default 10); 1 times one after a "
        "pause, when no cache is warm and no thread awake",
    )


def one_thread():
    """Limits TensorFlow to one thread. Call this function before the first TensorFlow operation."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def timed(function, cpu_time=False, steps=1):
    """Returns a candidate for `alternate`. The candidate calls `function` `steps` times and returns
    the mean seconds.

    `function` must wait for its result.
    """
    clock = time.process_time if cpu_time else time.perf_counter

    def candidate():
        start = clock()
        for _ in range(steps):
            function()
        return (clock() - start) / steps

    return candidate


def alternate(candidates, repeats):
    """Times the candidates in turn, so that other load on the machine affects all of them equally.

    Args:
        candidates: Dict from a name to a function that returns the seconds of one run.
        repeats: Number of rounds, at least 5.

    Returns:
        Dict from the name of a candidate to its seconds, a NumPy array of shape `(repeats,)`.
    """
    if repeats < 5:
        raise ValueError(f"`repeats` must be at least 5 for a median. Received {repeats}.")
    seconds = {name: np.empty(repeats) for name in candidates}
    for i in range(-WARM_UP_ROUNDS, repeats):
        for name, candidate in candidates.items():
            time.sleep(PAUSE_SECONDS)
            elapsed = candidate()
            if i >= 0:
                seconds[name][i] = elapsed
    return seconds


def show(title, rows, seconds):
    """Prints the median and the minimum time of each candidate in milliseconds. The table also has
    the ratios of these two times to the times of the candidate with which the row is compared.
    """
    print(f"\n{title}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    line = "{:<44} {:>10} {:>10} {:>8} {:>8} {:>6}  {}"
    print(line.format("", "median ms", "least ms", "ratio", "of least", "bound", ""))
    for row in rows:
        if row.name not in seconds:
            continue
        ours = seconds[row.name]
        cells = [row.name, f"{1e3 * np.median(ours):.1f}", f"{1e3 * ours.min():.1f}"] + [""] * 4
        if row.against in seconds:
            yardstick = seconds[row.against]
            ratio = np.median(ours) / np.median(yardstick)
            cells[3:5] = f"{ratio:.2f}", f"{ours.min() / yardstick.min():.2f}"
            if row.bound is not None:
                cells[5:] = f"{row.bound:.1f}", verdict(ratio, row.bound)
        print(line.format(*cells).rstrip())


def verdict(value, bound):
    """Returns `met` or `MISSED` for a ratio and its largest allowed value."""
    return "met" if value <= bound else "MISSED"
