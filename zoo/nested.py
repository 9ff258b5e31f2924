"""Chooses settings by nested cross-validation. The settings with which a person is measured do not
depend on the recordings of this person.
"""

import numpy as np


def choose(grid, groups, validate):
    """Chooses the best settings for each group of people, and for a model of all people.

    Each group of the first half of the list is paired with a group of the second half. Each
    candidate is trained without the two groups of a pair and measured on each of the two groups.
    The settings for a group are the settings that are best on the other group of its pair.

    Args:
        grid: Candidate settings, a list of dictionaries.
        groups: List of disjoint groups of people. The number of groups must be even.
        validate: `validate(candidate, pair) -> (score, score)`. The function trains a model without
            the two groups of a pair and returns the score of each group. Larger scores are better.

    Returns:
        A list with the chosen candidate for each group, and the candidate with the best mean over
        all groups. If two candidates have the same score, the first one is chosen.

    Raises:
        ValueError: If the number of groups is odd.
    """
    half, odd = divmod(len(groups), 2)
    if odd:
        raise ValueError(
            f"Received {len(groups)} `groups`. An even number is expected, because the groups are "
            "paired. Give one group more or one group fewer."
        )
    pairs = list(zip(groups[:half], groups[half:], strict=True))
    scores = np.empty((len(grid), 2, half))
    for row, candidate in enumerate(grid):
        for column, pair in enumerate(pairs):
            scores[row, :, column] = validate(candidate, pair)
        print(f"{candidate}: {', '.join(f'{x:.4f}' for x in scores[row].ravel())}", flush=True)
    of_partners = scores[:, ::-1].reshape(len(grid), -1)
    return [grid[i] for i in of_partners.argmax(axis=0)], grid[scores.mean(axis=(1, 2)).argmax()]


def name(candidate, group):
    """Returns the name of a run that trains with the settings `candidate` and without the people in
    `group`.
    """
    settings = (f"{key}_{value:g}" for key, value in candidate.items())
    return "_".join(["without", *map(str, group), *settings])
