"""Whether an archive holds the whole of its data set."""

from __future__ import annotations

import logging
from collections.abc import Container, Mapping

log = logging.getLogger("tfds_builders")


def tell_part(
    title: str,
    whole: str,
    held: Mapping[str, tuple[int, int]],
    divided: Container[str] = (),
) -> None:
    """Warns of an archive that holds less than the official one.

    Args:
        title: Name of the archive.
        whole: Name of what the official archive holds.
        held: Number there and official number, by the word for what is counted, in the plural.
        divided: What the splits are drawn from: where one of these is not whole, the splits are
            others than those of the official archive.

    >>> tell_part("A.zip", "MotionSense", {"trials": (360, 360), "people": (24, 24)})
    """
    absent = [things for things, (here, official) in held.items() if here < official]
    if not absent:
        return
    counts = " and ".join(f"{here:,} of {of:,} {things}" for things, (here, of) in held.items())
    drawn = any(things in divided for things in absent)
    splits = ", so its splits are those of the part" if drawn else ""
    log.warning("%s holds %s: a part of %s%s.", title, counts, whole, splits)
