"""Distances as closeness from 0 to 100, which people read more easily than a model's distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MOST = 50  # people whose recordings are compared with themselves


class Scale(NamedTuple):
    """The distances of a model that are near and far.

    Attributes:
        same: Distance of a recording to itself.
        other: Usual distance of a recording to another person.
    """

    same: float
    other: float

    @classmethod
    def of_card(cls, card, same):
        """Returns the scale of a model; None if its card does not say what is far.

        Args:
            card: Card of the model, or None.
            same: Distance of a recording to itself.
        """
        imposters = (card or {}).get("imposters")
        if imposters is None or not imposters["mean"] > same:
            return None
        return cls(float(same), imposters["mean"])

    def closeness(self, distance):
        """Returns how close a distance is: 0 as far as other people usually are or further, 100 as
        close as the same recording.

        Args:
            distance: The distance; infinite: 0.
        """
        share = (self.other - distance) / (self.other - self.same)
        return 100 * float(np.clip(share, 0.0, 1.0))


def scale_of(model, templates):
    """Returns the `Scale` of a gallery, see `Scale.of_card`.

    Args:
        model: `GalleryModel`.
        templates: `Templates` of a person or more.
    """
    first = [templates.enrolled_of(name)[:1] for name in templates.names[:MOST]]
    if not first:
        return None
    first = np.concatenate(first)
    same = np.mean(np.diag(model.distances(first, first)), dtype=np.float64)
    return Scale.of_card(model.card, same)
