"""Warning for an archive that holds only a part of its data set."""

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
    """Warns if an archive has less than the official archive, and stores the warning as metadata.

    Args:
        info: Info of the data set. The function adds the warning to `info.metadata["parts"]`, so
            that users of the prepared data set see it too.
        title: Name of the archive.
        whole: Name of the complete data set, for the warning.
        counts: Mapping from a plural noun, such as `"films"`, to the number of films in the archive
            and in the official archive.
        divided: Keys of `counts` whose items are divided into splits. If the archive has too few
            of these items, the warning says that the splits differ from the official ones.
    """
    incomplete = [things for things, (count, official) in counts.items() if count < official]
    if not incomplete:
        return
    *first, last = [f"{count:,} of {of:,} {things}" for things, (count, of) in counts.items()]
    numbers = f"{', '.join(first)} and {last}" if first else last
    has_other_splits = any(things in divided for things in incomplete)
    splits = " Its splits differ from those of the whole." if has_other_splits else ""
    warning = f"{title} holds {numbers}: a part of {whole}.{splits}"
    log.warning("%s", warning)
    warnings = info.metadata.setdefault("parts", [])
    if warning not in warnings:  # a builder may run again after it failed
        warnings.append(warning)
