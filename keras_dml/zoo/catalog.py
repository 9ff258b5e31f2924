"""Lists the models of the zoo, reads their cards and describes them, without importing Keras."""

import fnmatch
import json
import math
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

from keras_dml import _figures
from keras_dml.zoo import lookup, products, schema

TRIES = ("FAR wanted", "FAR, once", "FAR, best of tries", "TAR, once", "TAR, best of tries")
ACRONYMS = ("auc", "eer", "tar", "far")
MAX_DIGITS = 20  # largest number of digits of an integer. Numbers of bytes have fewer digits.
LESS = " less "  # in the `head` of a figure, marks a difference between the figures of two heads
# Words that say how far apart in time the recordings of a person are, by `repeats` of a headline.
SITTINGS = {"blocks": ", one sitting", "days": ", several days", "sessions": ", several sessions"}
SHOTS = {"ways": "way", "shots": "shot"}
# Metrics whose names begin with these prefixes are printed in percent.
RATES = ("eer", "accuracy", "misidentification", "tar_at_far", "recall_at")


def list_models(pattern: str = "*", *, in_products: bool = False) -> list[str]:
    """Returns the sorted names of the models.

    Args:
        pattern: Pattern with wildcards that the names must match, such as `"eeg_*"`.
        in_products: Whether to return only models that may be used in products, according to the
            licenses of their data and weights (see `keras_dml.zoo.products`).

    Returns:
        List of names, which is empty if no name matches.

    Raises:
        NotADirectoryError: If KERAS_DML_ZOO is not the path of a folder.
        ValueError: If `in_products` is true and a card is damaged.

    Example:
        >>> keras_dml.zoo.list_models("gait_*")
        ['gait_lda', 'gait_qp_wl']
    """
    names = fnmatch.filter(lookup.names(), pattern)
    if not in_products:
        return names
    return [name for name in names if products.mark(card(name)) == products.YES]


def card(name: str | pathlib.Path) -> dict[str, Any]:
    """Reads the card of a model.

    The card describes the input, the data and their license, the error rates, the limits and the
    recipe of the model.

    Args:
        name: Name of a model of the zoo, or the path of the folder of a model.

    Returns:
        The card as a dict, whose keys `keras_dml.zoo.schema.CARD` describes.

    Raises:
        ValueError: If the model does not exist (the message then lists similar names), if its card
            is damaged, or if its card describes another model.
        FileNotFoundError: If the path is not a folder with a card.
        TypeError: If `name` is neither a string nor a path.
    """
    is_path = lookup.is_path(name)
    path = (lookup.folder_at(name) if is_path else lookup.find(name)) / lookup.CARD
    content = schema.validate(read_json(path), f"{path}")
    if not is_path and content["name"] != name:
        raise ValueError(
            f"{path} is the card of {content['name']!r}, but its folder is called {name!r}. Rename "
            "the folder, or replace the card."
        )
    return content


def info(name: str | pathlib.Path) -> str:
    """Describes the task, input, size and error rates of a model in one line.

    Args:
        name: Name of the model.

    Returns:
        Text without line breaks.

    Raises:
        ValueError, TypeError: Same as in `card`.
    """
    content = card(name)
    parts = [
        content["task"],
        input_in_words(content),
        f"{content['model']['parameters']:,} parameters",
        *figures_in_words(content),
    ]
    return f"{name}: {', '.join(parts)}"


def input_in_words(card: dict[str, Any]) -> str:
    """Describes the input of a model, for example as `6 channels at 100 Hz`, `6 channels of events`
    or `images of 28 × 28 pixels, 1 channel`.
    """
    described = card["input"]
    channels = _figures.counted(len(described["channels"]), "channel")
    if "size" in described:
        return f"images of {extent_in_words(card)}, {channels}"
    if described["rate_hz"] is None:
        return f"{channels} of events"
    return f"{channels} at {described['rate_hz']:g} Hz"


def extent_in_words(card: dict[str, Any]) -> str:
    """Describes the size of the input, for example as `64 steps or more at 100 Hz`, `32 events or
    more` or `28 × 28 pixels`.
    """
    described = card["input"]
    if "size" in described:
        return f"{' × '.join(map(str, described['size']))} pixels"
    min_steps, max_steps = described["length"]
    rate = described["rate_hz"]
    steps = "events" if rate is None else "steps"
    if max_steps is None:
        extent = f"{min_steps} {steps} or more"
    elif min_steps == max_steps:
        extent = f"{min_steps} {steps}"
    else:
        extent = f"{min_steps} to {max_steps} {steps}"
    return extent if rate is None else f"{extent} at {rate:g} Hz"


def known_in_words(card: dict[str, Any]) -> tuple[str, str]:
    """Describes the numbers of people or classes in the training data and in the test data.

    The result is, for example, `("people", "135 trained on, 45 tested on")` or `("classes", ...)`.
    For a user's own model, the result is, for example, `("people", "made with 6")`. The text does
    not contain "trained on", because some methods need no training.
    """
    data = card["data"]
    if card.get("is_own"):
        return "people", f"made with {len(data['train_subjects'])}"
    trained, tested, what = (
        (data["train_subjects"], data["test_subjects"], "people")
        if "train_subjects" in data
        else (data["train_classes"], data["test_classes"], "classes")
    )
    return what, f"{len(trained)} trained on, {len(tested)} tested on"


def is_classifier(card: dict[str, Any]) -> bool:
    """Returns whether a model is a `PrototypicalClassifier`."""
    from keras_dml import distances  # loads Keras

    return distances.declared(card["embedding"]["distance"]).is_learned


def figures_in_words(card: dict[str, Any]) -> Iterator[str]:
    """Describes the main result, and the accuracy under the strongest attack.

    Yields:
        Texts such as `EER 2.3 % [0.6 to 3.0] (168 probes of 45 people)` or `PGD-100 accuracy 94.1 %
        ± 0.2 (10,000 trials)`.
    """
    yield _headline_in_words(card["headline"])
    attacked = [row for row in card["figures"] if row["protocol"] == "robustness"]
    if attacked:
        row = min(attacked, key=lambda row: row["value"])
        value = percent(row["value"], row["stderr"])
        yield f"{setting(row)} accuracy {value} ({row['trials']:,} trials)"


def _headline_in_words(headline):
    if "unmeasured" in headline:
        return headline["unmeasured"]
    row = next(row for row in headline["rows"] if row["metric"] in ("eer", "accuracy"))
    count = (
        f"{headline['images']:,} images"
        if "images" in headline
        else (f"{headline['probes']:,} probes of {headline['people']} people")
    )
    count += SITTINGS.get(headline.get("repeats"), "")
    figure = with_interval(row["value"], row["ci95"])
    return f"{metric_in_words(row['metric'])} {figure} ({count})"


def setting(row: dict[str, Any]) -> str:
    """Describes the conditions under which a figure was measured, for example as `20-way 1-shot` or
    `fgsm at 0.3, dol head`. The text is empty if the card does not state conditions.

    Args:
        row: Row of the entry `figures` of a card.
    """
    attack = row.get("attack")
    if attack and "epsilon" in row:
        attack = f"{attack} at {row['epsilon']:.3g}"
    parts = [
        row.get("domain"),
        " ".join(f"{row[key]}-{word}" for key, word in SHOTS.items() if key in row),
        attack,
        _head(row),
        f"{row['score']} score" if "score" in row else None,
    ]
    return ", ".join(str(part) for part in parts if part)


def protocol_in_words(card: dict[str, Any], row: dict[str, Any]) -> str:
    """Describes the protocol by which a figure was measured, for example as `few shot` or `block
    verification`.

    If each person has only one session, the protocol divides the session into blocks, and the text
    says "block" and not "session".

    Args:
        card: Card of a model.
        row: Row of the entry `figures` of the card.
    """
    words = row["protocol"].replace("_", " ")
    one_sitting = card["headline"].get("repeats") == "blocks"
    return words.replace("session", "block") if one_sitting else words


def value_in_words(row: dict[str, Any]) -> str:
    """Formats a figure with its 95 % confidence interval or its standard error.

    Examples are `2.3 % [0.6 to 3.1]`, `99.31 % ± 0.08` and `0.9982 ± 0.0009`. If no error was
    observed, the text states the upper 95 % confidence bound by the rule of three, for example `0
    %, at most 7.7 %`.

    Args:
        row: Row of the entry `figures` of a card.
    """
    if "ci95" in row:
        if is_rate(row):
            return with_interval(row["value"], row["ci95"])
        low, high = row["ci95"]
        return f"{row['value']:.4f} [{low:.4f} to {high:.4f}]"
    if row["stderr"] == 0:
        return _without_error(row)
    if row["metric"] == "auc":
        digits = max(4, -math.floor(math.log10(row["stderr"])))
        return f"{row['value']:.{digits}f} ± {row['stderr']:.{digits}f}"
    if is_rate(row):
        return percent(row["value"], row["stderr"])
    return f"{row['value']:.4g} ± {row['stderr']:.2g}"


def change_in_words(row: dict[str, Any]) -> str:
    """Formats how much an export changes a figure, for example as `-0.0004`, or as a dash if the
    change is unknown.

    Args:
        row: Element of the list `exports` of a card.
    """
    change = row.get("auc_change", row.get("accuracy_change"))
    return "–" if change is None else f"{round(change, 4) + 0.0:+.4f}"  # no minus before zeros


def _head(row):
    head = row.get("head")
    return head if head is None or LESS in head else f"{head} head"


def _without_error(row):
    """Formats a value whose standard error is 0, because all repetitions or folds gave the same
    value.
    """
    if not is_rate(row):
        return f"{row['value']:.4g}"
    bound = min(1, 3 / row.get("people", row["trials"]))
    limits = {0: f", at most {100 * bound:.2g} %", 1: f", at least {100 * (1 - bound):.2g} %"}
    return f"{100 * row['value']:g} %{limits.get(row['value'], '')}"


def is_rate(row: dict[str, Any]) -> bool:
    """Returns whether a figure is printed in percent."""
    return row["metric"].startswith(RATES)


def percent(value: float, stderr: float) -> str:
    """Formats a fraction and its standard error in percent, for example as `2.1 % ± 0.3`."""
    digits = 1 if 100 * stderr >= 0.1 else 2
    return f"{100 * value:.{digits}f} % ± {100 * stderr:.{digits}f}"


def metric_in_words(name: str) -> str:
    """Formats the name of a metric, for example as `EER` or `TAR at FAR 1 %`."""
    start, at, far = name.partition("_at_far_")
    words = " ".join(word.upper() if word in ACRONYMS else word for word in start.split("_"))
    return f"{words} at FAR {100 * float(far):g} %" if at else words


def with_interval(value: float, bounds: Sequence[float]) -> str:
    """Formats a fraction with its confidence interval in percent, for example as `2.3 % [0.6 to
    3.1]`.
    """
    return f"{100 * value:.{_digits(bounds)}f} % [{percents(bounds, unit='')}]"


def points(value: float, bounds: Sequence[float]) -> str:
    """Formats a difference in percentage points with its interval, for example as `-2.3 points
    [-4.0 to -0.6]`.
    """
    return f"{100 * value:.{_digits(bounds)}f} points [{percents(bounds, unit='')}]"


def far_interval(row: dict[str, Any]) -> Sequence[float]:
    """Returns the 95 % confidence interval of the false accept rate of a threshold.

    If the same people were used to choose the threshold and to measure its rate, the function
    returns the interval that is stored as `certificate`. If a threshold and its rate come from the
    same people, a bootstrap interval over these people contains the true rate far too rarely,
    because the bootstrap ignores how the threshold was chosen.

    Args:
        row: Element of the list `thresholds` of a card.
    """
    return row["certificate"]["ci95"] if "certificate" in row else row["far_ci95"]


def tries_in_words(row: dict[str, Any]) -> tuple[str, ...]:
    """Formats the accept rates of a threshold for one try and for several tries. `TRIES` holds the
    names of the columns.

    Args:
        row: Element of a card's list `thresholds`. The element contains `best_of_tries`.
    """
    rates = row["best_of_tries"]
    return (
        f"{100 * row['far']:g} %",
        f"{100 * rates['far_once']:.1f} %",
        with_interval(rates["far"], rates["far_ci95"]),
        f"{100 * rates['tar_once']:.1f} %",
        with_interval(rates["tar"], rates["tar_ci95"]),
    )


def people_in_words(count: int | Sequence[int]) -> str:
    """Formats the number of people that are needed to set a threshold for a false accept rate, for
    example as `29 to 600` or `about 59`.

    Args:
        count: Smallest and largest number of people, or a single number, as in older cards.
    """
    if isinstance(count, int):
        return f"about {count:,}"
    fewest, most = count
    return f"{fewest:,} to {most:,}"


def percents(bounds: Sequence[float], unit: str = " %") -> str:
    """Formats an interval in percent, for example as `0.6 to 3.1 %`."""
    low, high = (f"{100 * bound:.{_digits(bounds)}f}" for bound in bounds)
    return f"{low} to {high}{unit}"


def _digits(bounds):
    """Returns the number of decimals of a percentage.

    The number is 2 if the interval is narrower than half a percentage point, and otherwise 1.
    """
    return 2 if bounds[1] - bounds[0] < 0.005 else 1


def read_json(path: pathlib.Path) -> dict[str, Any]:
    """Reads a JSON file.

    A number that is too large for a float becomes infinity. For a card with such a number,
    `schema.validate` raises an error that names the entry.

    Raises:
        ValueError: If the file is damaged.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_int=_whole)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(
            f"{path} is not a JSON file ({error}), so it is damaged. Install the package again."
        ) from error


def _whole(digits):
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)
