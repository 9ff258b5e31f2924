"""The rows of a table in the order of their times."""

import dataclasses

import numpy as np

STRETCH = 10  # rows in order; two stretches at one time are two recordings, not late rows
LEAST_EVEN = 0.5  # share of steps within half of the median; 0.35 if times are drawn uniformly
SORTED = "Rows were sorted by their times."


def by_time(table, column):
    """Sorts the rows of a table by a column of times.

    Args:
        table: `Table`.
        column: Index of the column.

    Returns:
        `Table`. It is returned as it is if its rows are in order, if the times cannot be read or
        their steps would differ much, or if sorting would mix two recordings: if a time is in two
        stretches of rows in order, or two long stretches overlap.
    """
    try:
        times = table.seconds(column)
        times = table.numbers(column) if times is None else times
    except ValueError:
        return table  # the times are refused where they are used
    starts = np.flatnonzero(np.diff(times) < 0) + 1
    if not len(starts) or not np.isfinite(times).all():
        return table
    firsts, ends = np.r_[0, starts], np.r_[starts, len(times)]
    numbers = np.repeat(np.arange(len(firsts)), ends - firsts)
    order = np.argsort(times, kind="stable")
    is_twice = (np.diff(times[order]) == 0) & (np.diff(numbers[order]) != 0)
    is_long = ends - firsts >= STRETCH
    begins, lasts = times[firsts[is_long]], times[ends[is_long] - 1]
    by_begin = np.lexsort((lasts, begins))
    steps = np.diff(times[order])
    usual = np.median(steps[steps > 0]) if steps.any() else 0.0
    is_even = np.abs(steps[steps > 0] - usual) <= usual / 2
    overlap = begins[by_begin][1:] < lasts[by_begin][:-1]
    if is_twice.any() or overlap.any() or is_even.mean() < LEAST_EVEN:
        return table

    place = table.place

    def seconds(i):
        values = table.seconds(i)
        return None if values is None else values[order] - values[order[0]]

    return dataclasses.replace(
        table,
        place=lambda row: place(order[row]),
        numbers=lambda i: table.numbers(i)[order],
        seconds=seconds,
        notes=(*table.notes, SORTED),
    )
