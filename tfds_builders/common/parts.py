"""Function that warns about archives that hold only a part of a data set."""

from __future__ import annotations

import logging
from collections.abc import Container, Mapping

import tensorflow_datasets as tfds

log = logging.getLogger("tfds_builders")


def warn_of_part(
    info: tfds.core.DatasetInfo,
    title: str,
    whole: str,
    counts: Mapping[str, tuple[int, int]],
    divided: Container[str] = (),
) -> None:
    """Logs a warning if an archive is incomplete, and stores the warning in the metadata.

    Args:
        info: Info of the data set. The function adds the warning to `info.metadata["parts"]`, where
            users of the prepared data set can read it.
        title: Name of the archive.
        whole: Name of the complete data set, for the warning.
        counts: Mapping from a noun in the plural, such as `"films"`, to two numbers: the count in
            the given archive and the count in the official archive.
        divided: Nouns in `counts` whose items the builder divides into splits. If some of these
            items are missing, the warning says that the splits differ from the splits of the
            complete data set.
    """
    incomplete = [things for things, (count, official) in counts.items() if count < official]
    if not incomplete:
        return
    *first, last = [f"{count:,} of {of:,} {things}" for things, (count, of) in counts.items()]
    numbers = f"{', '.join(first)} and {last}" if first else last
    has_other_splits = any(things in divided for things in incomplete)
    splits = " Its splits differ from those of the complete data set." if has_other_splits else ""
    warning = f"{title} holds {numbers}, so it is only a part of {whole}.{splits}"
    log.warning("%s", warning)
    warnings = info.metadata.setdefault("parts", [])
    if warning not in warnings:  # a builder may run again after it failed
        warnings.append(warning)
