"""Whether an archive holds the whole of its data set."""

from __future__ import annotations

import logging
from collections.abc import Container, Mapping

import tensorflow_datasets as tfds

log = logging.getLogger("tfds_builders")


def tell_part(
    info: tfds.core.DatasetInfo,
    title: str,
    whole: str,
    held: Mapping[str, tuple[int, int]],
    divided: Container[str] = (),
) -> None:
    """Warns of an archive that holds less than the official one, and keeps that in the metadata.

    Args:
        info: Of the data set: `metadata["parts"]` gets the sentence, so that it is told of the
            prepared data set too.
        title: Name of the archive.
        whole: Name of what the official archive holds.
        held: Number there and official number, by the word for what is counted, in the plural.
        divided: What the splits are drawn from: where one of these is not whole, the splits are
            others than those of the official archive.
    """
    absent = [things for things, (here, official) in held.items() if here < official]
    if not absent:
        return
    counts = " and ".join(f"{here:,} of {of:,} {things}" for things, (here, of) in held.items())
    drawn = any(things in divided for things in absent)
    splits = ", so its splits are those of the part" if drawn else ""
    told = f"{title} holds {counts}: a part of {whole}{splits}."
    log.warning("%s", told)
    kept = info.metadata.setdefault("parts", [])
    if told not in kept:  # a builder that failed may prepare again
        kept.append(told)
