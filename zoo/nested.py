"""Chooses settings by nested cross-validation, on people who are not measured."""

import numpy as np


def choose(grid, groups, validate):
    """Chooses the best settings for each group of people, and for a model of all of them.

    Groups are paired, half the list apart. Each candidate is trained without both groups of a pair
    and measured on each of them. The settings of a group are the best ones on its partner.

    Args:
        grid: Candidates, a list of dicts.
        groups: An even number of disjoint groups of people.
        validate: `validate(candidate, pair) -> (score, score)`. It trains without both groups of a
            pair and measures each group. Larger scores are better.

    Returns:
        A list with the candidate of each group, and the candidate with the best mean over all
        groups. Of equal candidates the first is chosen.

    Raises:
        ValueError: If the number of groups is odd.
    """
    half, odd = divmod(len(groups), 2)
    if odd:
        raise ValueError(f"`groups` must pair up. Received {len(groups)} of them.")
    pairs = list(zip(groups[:half], groups[half:], strict=True))
    scores = np.empty((len(grid), 2, half))
    for row, candidate in enumerate(grid):
        for column, pair in enumerate(pairs):
            scores[row, :, column] = validate(candidate, pair)
        print(f"{candidate}: {', '.join(f'{x:.4f}' for x in scores[row].ravel())}", flush=True)
    of_partners = scores[:, ::-1].reshape(len(grid), -1)
    return [grid[i] for i in of_partners.argmax(axis=0)], grid[scores.mean(axis=(1, 2)).argmax()]


def name(candidate, group):
    """Returns the name of a run that trains with some settings and without some people."""
    settings = (f"{key}_{value:g}" for key, value in candidate.items())
    return "_".join(["without", *map(str, group), *settings])
