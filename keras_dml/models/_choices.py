"""Options with a fixed set of choices."""


def choose(name, value, choices):
    """Returns the value of a choice.

    Args:
        name: Name of the argument.
        value: The choice.
        choices: Dict from choices to their values, or a range of the values themselves.

    Raises:
        ValueError: If the choice is unknown; the message lists all choices.
    """
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {tuple(choices)}. Received {name}={value!r}.")
    return choices[value]
