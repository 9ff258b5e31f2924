"""Function that prints the progress of a run as one line every ten seconds. On a terminal, the
function prints nothing, because TFDS draws a progress bar there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
SECONDS = 10.0


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Yields the items. If stderr is not a terminal, the function prints the count, the rate and
    the remaining time to stderr.

    Args:
        items: The items.
        description: Text at the beginning of the progress line.
        total: Number of items. Default: `len(items)`.
    """
    total = len(items) if total is None else total
    start = logged = time.monotonic()
    for done, item in enumerate(items):
        now = time.monotonic()
        if now - logged >= SECONDS and not sys.stderr.isatty():
            logged, rate = now, done / (now - start)
            left = (total - done) / rate
            print(
                f"{description}: {done:,} of {total:,}, {rate:.1f}/s, {left:.0f} s left",
                file=sys.stderr,
                flush=True,
            )
        yield item
