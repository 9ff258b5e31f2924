"""Which recordings of a person belong together."""

import numpy as np
from scipy.sparse.csgraph import connected_components


def apart(distances, enrolled, limit):
    """Recordings that do not belong to a person, and how far they are from what does.

    Recordings within a limit of each other belong together, also by others between them. Those of a
    person belong to one that is enrolled; of somebody new it is the largest group of two or more.
    So several recordings of somebody else do not vouch for each other.

    Args:
        distances: Of each recording given to those enrolled and to those given, infinite to itself,
            shape `(given, enrolled + given)`.
        enrolled: Number of recordings enrolled.
        limit: Largest distance within a person.

    Returns:
        By the row of each that does not belong, its distance to the nearest of those that do; to
        the nearest other one where none does.
    """
    near = distances <= limit
    links = np.zeros((len(distances) + 1,) * 2, bool)  # the first is everything enrolled
    links[1:, 0] = near[:, :enrolled].any(axis=1)
    links[1:, 1:] = near[:, enrolled:]
    (first, *groups) = connected_components(links, directed=False)[1]
    sizes = np.bincount(groups)
    if enrolled:
        own = np.equal(groups, first)
    else:
        own = np.equal(groups, sizes.argmax()) & (sizes.max() > 1)
    kept = np.concatenate([np.ones(enrolled, bool), own])
    nearest = distances[:, kept if kept.any() else slice(None)].min(axis=1)
    return {int(row): float(nearest[row]) for row in np.flatnonzero(~own)}
