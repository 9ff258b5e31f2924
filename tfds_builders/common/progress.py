"""Progress as a line every ten seconds; on a terminal TFDS draws a bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
SECONDS = 10.0


def track(items: Sequence[T], description: str) -> Iterator[T]:
    """Yields the items; off a terminal, writes count, rate and time left to stderr."""
    start = logged = time.monotonic()
    for done, item in enumerate(items):
        now = time.monotonic()
        if now - logged >= SECONDS and not sys.stderr.isatty():
            logged, rate = now, done / (now - start)
            left = (len(items) - done) / rate
            print(
                f"{description}: {done:,} of {len(items):,}, {rate:.1f}/s, {left:.0f} s left",
                file=sys.stderr,
                flush=True,
            )
        yield item
