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
    """Warns if an archive holds less than the official one, and keeps the warning as metadata.

    Args:
        info: Info of the data set. `metadata["parts"]` gets the warning, so that readers of the
            prepared data set see it too.
        title: Name of the archive.
        whole: Name of the official contents.
        counts: Number in the archive and official number, by the plural noun for what is counted.
        divided: Nouns from which the splits are drawn. If one of these is incomplete, the splits
            differ from those of the official archive.
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
    if warning not in warnings:  # a builder that failed may prepare again
        warnings.append(warning)
