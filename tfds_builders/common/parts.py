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
        counts: Mapping from a plural noun to the number of these things in the archive and in the
            official archive.
        divided: Nouns for the things that are divided into splits. If one of their numbers is too
            small, the splits differ from the splits of the official archive.
    """
    incomplete = [things for things, (count, official) in counts.items() if count < official]
    if not incomplete:
        return
    numbers = " and ".join(
        f"{count:,} of {of:,} {things}" for things, (count, of) in counts.items()
    )
    has_other_splits = any(things in divided for things in incomplete)
    splits = ", so its splits are those of the part" if has_other_splits else ""
    warning = f"{title} holds {numbers}: a part of {whole}{splits}."
    log.warning("%s", warning)
    warnings = info.metadata.setdefault("parts", [])
    if warning not in warnings:  # a builder may run again after it failed
        warnings.append(warning)
