"""What a list of data sets says of one, known without its archive."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tfds_builders.common.find import Wanted


@dataclasses.dataclass(frozen=True)
class About:
    """A data set in a few words, as its source offers it.

    Attributes:
        people: Number of people; 0 of things, or where it is not told.
        size: Number of recordings, and bytes of the archive where they are stated.
        license: Terms in the words of the set's README.
        archives: The archive of all configs, or by name that of each, or a tuple of which any does.
        besides: What some configs need besides, by name.
    """

    people: int
    size: str
    license: str
    archives: Wanted | Mapping[str, Wanted | tuple[Wanted, ...]]
    besides: Mapping[str, Wanted] = dataclasses.field(default_factory=dict)

    def needs(self, config: str) -> list[tuple[Wanted, ...]]:
        """Returns what a config is prepared from: all of these, of each any archive."""
        found = self.archives if isinstance(self.archives, Wanted) else self.archives[config]
        needed = [found, self.besides[config]] if config in self.besides else [found]
        return [(one,) if isinstance(one, Wanted) else one for one in needed]
