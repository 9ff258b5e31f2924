"""Checks arguments that accept a fixed set of choices."""


def choose(name, value, choices):
    """Returns the entry of `choices` that belongs to the value of an argument.

    Args:
        name: Name of the argument, for the error message.
        value: Value of the argument.
        choices: Dict from allowed values to results, or a range of allowed numbers. For a range,
            the result is the number itself.

    Raises:
        ValueError: If `value` is not in `choices`. The message lists all choices.
    """
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {tuple(choices)}. Received {name}={value!r}.")
    return choices[value]
