"""Displays the progress of long computations on stderr, because programs write their results to
stdout.
"""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

SECONDS_BETWEEN_LINES = 10.0


def track(iterable: Iterable[Any], description: str, total: int | None = None) -> Iterator[Any]:
    """Yields the items of an iterable and shows progress on stderr.

    If stderr is a terminal, the function shows a bar with count, rate and time left. If stderr is
    not a terminal, the function prints one line every ten seconds, so that short computations do
    not add lines to a log.

    Args:
        iterable: Items to process.
        description: Description of the computation in a few words, such as `"embed"`.
        total: Number of items. The default is `len(iterable)`, if the iterable has a length.

    Yields:
        The items, unchanged and in the same order.

    >>> list(track([1, 2, 3], "count"))
    [1, 2, 3]
    """
    if total is None and hasattr(iterable, "__len__"):
        total = len(iterable)
    console = Console(stderr=True)
    if console.is_terminal:
        return _with_bar(iterable, description, total, console)
    return _with_lines(iterable, description, total)


class _Rate(ProgressColumn):
    """Column of the progress bar that shows the current number of items per second."""

    def render(self, task):
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.1f}/s", style="progress.data.speed")


def _with_bar(iterable, description, total, console):
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        yield from progress.track(iterable, total=total, description=description)


def _with_lines(iterable, description, total):
    start = printed = time.monotonic()
    for done, item in enumerate(iterable):
        now = time.monotonic()
        if now - printed >= SECONDS_BETWEEN_LINES:
            printed = now
            print(_line(description, done, total, now - start), file=sys.stderr, flush=True)
        yield item


def _line(description, done, total, seconds):
    rate = done / seconds
    if total is None:
        return f"{description}: {done} done, {rate:.1f}/s"
    left = f", {(total - done) / rate:.0f} s left" if done else ""
    return f"{description}: {done}/{total}, {rate:.1f}/s{left}"
