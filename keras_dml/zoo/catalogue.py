"""What models there are and what their cards say, without loading Keras."""

import json

from keras_dml.zoo import lookup, schema


def list():
    """Names of the models, sorted.

    Raises:
        NotADirectoryError: If KERAS_DML_ZOO names no folder.
    """
    return lookup.names()


def card(name):
    """All that is known about a model: input, data and its licence, figures, limits, recipe.

    Args:
        name: Name of the model.

    Returns:
        The card as a dict; `keras_dml.zoo.schema.CARD` says what it holds.

    Raises:
        ValueError: If there is no such model (the message gives the nearest names) or its card is
            damaged.
    """
    path = lookup.find(name) / lookup.CARD
    return schema.validate(read_json(path), f"{path}")


def info(name):
    """One line about a model: what for, what it takes, how large, how good.

    Raises:
        ValueError: As `card`.
    """
    known = card(name)
    parts = [
        known["task"],
        input_in_words(known),
        f"{known['model']['parameters']:,} parameters",
        *figures_in_words(known),
    ]
    return f"{name}: {', '.join(parts)}"


def input_in_words(card):
    """`6 channels at 100 Hz`."""
    return f"{len(card['input']['channels'])} channels at {card['input']['rate_hz']:g} Hz"


def figures_in_words(card):
    """The headline: equal error rate and identification at n = 1, where the card has them."""
    wanted = {("verification", "eer"): "EER", ("identification", "accuracy"): "identification"}
    for (protocol, metric), title in wanted.items():
        rows = [
            row
            for row in card["figures"]
            if (row["protocol"], row["metric"], row["n"]) == (protocol, metric, 1)
            and row.get("fraction") in (None, 1.0)
        ]
        for row in rows[:1]:
            yield f"{title} {percent(row['value'], row['stderr'])} ({row['trials']:,} trials)"


def percent(value, stderr):
    """`2.1 % ± 0.3`: a share with its standard error, in percent and no finer than the error."""
    digits = 1 if 100 * stderr >= 0.1 else 2
    return f"{100 * value:.{digits}f} % ± {100 * stderr:.{digits}f}"


def read_json(path):
    """The object in a JSON file.

    Raises:
        ValueError: If the file is damaged.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is no JSON file ({error}). It is damaged; install the package again."
        ) from error
