"""Lists that assign 53 voices to fixed splits.

All other voices are in `test`. `common.splits.by_subject` made the lists, separately for women and
men, with the fractions 2/3, 1/6 and 1/6. The lists are fixed, so that no voice moves to another
split when voices are added to the archive.
"""

from __future__ import annotations

from collections.abc import Iterable

TRAIN = frozenset(
    """
    1298636292 1298638087 1298639501 1298639895 1298639967 1298640657 1298642564 1298646185
    1298648564 1298650464 1298651951 1298652546 1298654047 1298656831 1298677452 1298687820
    1298688108 1298688598 1298697715 1298704821 1298715643 1299841470 1299842139 1299847043
    1299847593 1299847776 1299848258 1299854888 1299855427 1299855908 1299868017 1299872875
    1299897023 1299903751 1299911447
    """.split()
)
VALIDATION = frozenset(
    """
    1298636374 1298640189 1298641573 1298653986 1298660054 1298664051 1298699068 1299864160
    1299907796
    """.split()
)
SPLITS = ("train", "validation", "test")


def split_of(voice: str) -> str:
    """Returns the split of a voice."""
    if voice in TRAIN:
        return "train"
    return "validation" if voice in VALIDATION else "test"


def split_voices(voices: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Returns the voices of each split, sorted by their numbers. Leaves out empty splits."""
    parts = {split: [] for split in SPLITS}
    for voice in sorted(set(voices)):
        parts[split_of(voice)].append(voice)
    return {split: tuple(ids) for split, ids in parts.items() if ids}
