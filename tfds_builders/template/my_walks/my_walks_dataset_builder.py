"""Template of a builder. The data set has recordings of people who walk with a phone."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.archive import Source
from tfds_builders.common.builder import About, Example, Plan, RecordingsBuilder, divided
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted
from tfds_builders.common.repeats import Contents, Repeats
from tfds_builders.common.splits import by_subject
from tfds_builders.parsers import text

CHANNELS = ("x", "y", "z")
RATE_HZ = 50
FRACTIONS = {"train": 0.6, "validation": 0.2, "test": 0.2}  # fractions of the people
WANTED = Wanted(
    dataset="my_walks",
    stems=("my_walks",),  # names of the archive, without .zip, .tar.gz, …
    official="my_walks.zip",
    get="Put my_walks.zip into the manual folder. Then run `python -m tfds_builders.build "
    "my_walks --imports my_package --manual-dir FOLDER`.",
)


class Walk(NamedTuple):
    """One walk. The file of a walk is `<subject>/day<day>_<number>.csv`."""

    subject: str
    day: str
    number: str
    member: str  # name of the file in the archive


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `my_walks`."""

    ABOUT = About(people=5, size="10 walks", license="CC BY 4.0", archives=WANTED)
    HOMEPAGE = "https://example.org/my_walks"
    BUILDER_CONFIGS = [tfds.core.BuilderConfig(name="walks", description="Whole walks.")]

    def features(self) -> dict:
        return {"sequence": tfds.features.Tensor(shape=(None, len(CHANNELS)), dtype=np.float32)}

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        members = source.index(r"(\w+)/day(\d+)_(\d+)\.csv")
        if not members:
            raise ArchiveError(
                f"{source.title} holds no <subject>/day<day>_<number>.csv. It holds "
                f"{source.first_names}. {WANTED.get}"
            )
        walks = [Walk(*key, member) for key, member in members.items()]
        subjects = by_subject((walk.subject for walk in walks), FRACTIONS)
        return Plan(
            divided(walks, subjects),
            functools.partial(examples_of, source=source),
            things="walks",
            repeats=Repeats(source.title, "walks", "kept"),
            subjects=subjects,
            metadata={"channels": list(CHANNELS), "rate_hz": RATE_HZ},
        )


def examples_of(walk: Walk, repeats: Repeats | Contents, source: Source) -> Iterator[Example]:
    """Yields the example of a walk. Raises an error if two people have the same walk."""
    lines = text.read_text(source.open(walk.member), walk.member).splitlines()
    sequence = text.numbers(
        lines, len(CHANNELS), name=walk.member, first_line=1, separator=",", fix="Record it again."
    )
    key = f"{walk.subject}/{walk.day}/{walk.number}"
    repeats.add(sequence, key, walk.subject)
    day = int(walk.day)
    yield key, {"sequence": sequence, **people.record(walk.subject, session=day, day=day)}
