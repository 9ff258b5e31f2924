"""Choices of an architecture, refused early with the ones there are."""


def choose(name, value, choices):
    """What stands behind a choice.

    Args:
        name: Name of the argument.
        value: The choice.
        choices: Dict from a choice to what stands behind it, or a range of the values themselves.

    Raises:
        ValueError: If it is none of them.
    """
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {tuple(choices)}. Received {name}={value!r}.")
    return choices[value]
