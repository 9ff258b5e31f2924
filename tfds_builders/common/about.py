"""What a list of data sets says of one, known without its archive."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tfds_builders.common.find import Wanted


@dataclasses.dataclass(frozen=True)
class About:
    """A data set in a few words, as its source offers it.

    Attributes:
        people: Number of people; 0 of things.
        size: Number of recordings, and bytes of the archive where they are stated.
        license: Terms in the words of the set's README.
        archives: The archive of all configs, or by name that of each, or a tuple of which any does.
    """

    people: int
    size: str
    license: str
    archives: Wanted | Mapping[str, Wanted | tuple[Wanted, ...]]

    def archives_of(self, config: str) -> tuple[Wanted, ...]:
        """Returns the archives that a config is prepared from, any of them."""
        found = self.archives if isinstance(self.archives, Wanted) else self.archives[config]
        return (found,) if isinstance(found, Wanted) else found
