"""Names, cards and short descriptions of the models, without loading Keras."""

import fnmatch
import json
import math
import pathlib
from collections.abc import Iterator, Sequence

from keras_dml.zoo import lookup, schema

TRIES = ("FAR wanted", "FAR, once", "FAR, best of tries", "TAR, once", "TAR, best of tries")
ACRONYMS = ("auc", "eer", "tar", "far")
MAX_DIGITS = 20  # digits of an integer; a count of bytes has fewer
LESS = " less "  # marks the difference of two heads in the `head` of a figure
SHOTS = {"ways": "way", "shots": "shot"}
# Prefixes of the metrics that are given in percent.
RATES = ("eer", "accuracy", "misidentification", "tar_at_far", "recall_at")


def list_models(pattern: str = "*") -> list[str]:
    """Lists the names of the models, sorted.

    Args:
        pattern: A shell-style wildcard that the names must match, such as `"eeg_*"`.

    Returns:
        List of names; empty if no name matches.

    Raises:
        NotADirectoryError: If KERAS_DML_ZOO is not the path of a folder.

    Example:
        >>> keras_dml.zoo.list_models("gait_*")
        ['gait_lda', 'gait_qp_wl']
    """
    return fnmatch.filter(lookup.names(), pattern)


def card(name: str | pathlib.Path) -> dict:
    """Reads the card of a model: input, data and license, figures, limits, recipe.

    Args:
        name: Name of a model of the zoo, or the path of a model's folder.

    Returns:
        The card as a dict; `keras_dml.zoo.schema.CARD` describes its keys.

    Raises:
        ValueError: If the model does not exist (the message gives similar names), or its card is
            damaged or belongs to a model of another name.
        FileNotFoundError: If the path is not a folder with a card.
        TypeError: If `name` is neither a string nor a path.
    """
    is_path = lookup.is_path(name)
    path = (lookup.folder_at(name) if is_path else lookup.find(name)) / lookup.CARD
    content = schema.validate(read_json(path), f"{path}")
    if not is_path and content["name"] != name:
        raise ValueError(
            f"{path} is the card of {content['name']!r} and lies in the folder {name!r}. Give the "
            "folder the name in the card, or replace the card."
        )
    return content


def info(name: str | pathlib.Path) -> str:
    """Describes a model in one line: task, input, size, error rates.

    Args:
        name: Name of the model.

    Returns:
        A string without line breaks.

    Raises:
        ValueError, TypeError: See `card`.
    """
    content = card(name)
    parts = [
        content["task"],
        input_in_words(content),
        f"{content['model']['parameters']:,} parameters",
        *figures_in_words(content),
    ]
    return f"{name}: {', '.join(parts)}"


def input_in_words(card: dict) -> str:
    """Describes the input: `6 channels at 100 Hz`, `images of 28 × 28 pixels, 1 channel`."""
    described = card["input"]
    channels = counted(len(described["channels"]), "channel")
    if "size" in described:
        return f"images of {extent_in_words(card)}, {channels}"
    return f"{channels} at {described['rate_hz']:g} Hz"


def extent_in_words(card: dict) -> str:
    """Describes the size of the input: `64 steps or more at 100 Hz`, `28 × 28 pixels`."""
    described = card["input"]
    if "size" in described:
        return f"{' × '.join(map(str, described['size']))} pixels"
    min_steps, max_steps = described["length"]
    if max_steps is None:
        steps = f"{min_steps} steps or more"
    elif min_steps == max_steps:
        steps = f"{min_steps} steps"
    else:
        steps = f"{min_steps} to {max_steps} steps"
    return f"{steps} at {described['rate_hz']:g} Hz"


def known_in_words(card: dict) -> tuple[str, str]:
    """Describes the people or classes of the training and the test.

    Examples are `("people", "135 trained on, 45 tested on")` and `("classes", ...)`. For a model
    that users made, possibly without training, it is `("people", "made with 6")`.
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


def is_classifier(card: dict) -> bool:
    """Returns whether a model is a `PrototypicalClassifier`."""
    from keras_dml import distances  # loads Keras

    return distances.declared(card["embedding"]["distance"]).is_learned


def figures_in_words(card: dict) -> Iterator[str]:
    """Describes the headline, and the figure under the strongest attack.

    Yields:
        `EER 2.3 % [0.6 to 3.0] (168 probes of 45 people)`,
        `PGD-100 accuracy 94.1 % ± 0.2 (10,000 trials)`.
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
    figure = with_interval(row["value"], row["ci95"])
    return f"{metric_in_words(row['metric'])} {figure} ({count})"


def setting(row: dict) -> str:
    """Describes the conditions of a figure: `20-way 1-shot`, `fgsm at 0.3, dol head`, or nothing.

    Args:
        row: Row of a card's `figures`.
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


def protocol_in_words(card: dict, row: dict) -> str:
    """Describes the protocol of a figure: `few shot`, `block verification`.

    If all recordings of a person are from one session, the sessions of a protocol are blocks of
    this session.

    Args:
        card: A card.
        row: Row of its `figures`.
    """
    words = row["protocol"].replace("_", " ")
    one_sitting = card["headline"].get("repeats") == "blocks"
    return words.replace("session", "block") if one_sitting else words


def value_in_words(row: dict) -> str:
    """Formats a figure with its 95 % interval or its standard error.

    Examples are `2.3 % [0.6 to 3.1]`, `99.31 % ± 0.08` and `0.9982 ± 0.0009`. If no error was
    observed, a rate has the 95 % bound by the rule of three: `0 %, at most 7.7 %`.

    Args:
        row: Row of a card's `figures`.
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


def change_in_words(row: dict) -> str:
    """Formats the change of a figure by an export: `-0.0004`, or a dash if it is unknown.

    Args:
        row: Entry of a card's `exports`.
    """
    change = row.get("auc_change", row.get("accuracy_change"))
    return "–" if change is None else f"{round(change, 4) + 0.0:+.4f}"  # no minus before zeros


def _head(row):
    head = row.get("head")
    return head if head is None or LESS in head else f"{head} head"


def _without_error(row):
    """Formats a value that is equal in each repetition or fold."""
    if not is_rate(row):
        return f"{row['value']:.4g}"
    bound = min(1, 3 / row.get("people", row["trials"]))
    limits = {0: f", at most {100 * bound:.2g} %", 1: f", at least {100 * (1 - bound):.2g} %"}
    return f"{100 * row['value']:g} %{limits.get(row['value'], '')}"


def is_rate(row: dict) -> bool:
    """Returns whether a figure is given in percent."""
    return row["metric"].startswith(RATES)


def counted(count: int, word: str) -> str:
    """Formats a count: `1 channel`, `6 channels`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def percent(value: float, stderr: float) -> str:
    """Formats a fraction and its standard error in percent: `2.1 % ± 0.3`."""
    digits = 1 if 100 * stderr >= 0.1 else 2
    return f"{100 * value:.{digits}f} % ± {100 * stderr:.{digits}f}"


def metric_in_words(name: str) -> str:
    """Formats the name of a metric: `EER`, `TAR at FAR 1 %`."""
    start, at, far = name.partition("_at_far_")
    words = " ".join(word.upper() if word in ACRONYMS else word for word in start.split("_"))
    return f"{words} at FAR {100 * float(far):g} %" if at else words


def with_interval(value: float, bounds: Sequence[float]) -> str:
    """Formats a fraction with its interval in percent: `2.3 % [0.6 to 3.1]`."""
    return f"{100 * value:.{_digits(bounds)}f} % [{percents(bounds, unit='')}]"


def points(value: float, bounds: Sequence[float]) -> str:
    """Formats a difference of fractions in percentage points: `-2.3 points [-4.0 to -0.6]`."""
    return f"{100 * value:.{_digits(bounds)}f} points [{percents(bounds, unit='')}]"


def far_interval(row: dict) -> Sequence[float]:
    """Returns the 95 % interval of the false accept rate of a threshold.

    If the threshold was chosen on the people who show its rate, this is the interval of its
    certificate. A bootstrap interval over these people would treat the threshold as fixed and would
    contain the true rate far too rarely.

    Args:
        row: Entry of a card's `thresholds`.
    """
    return row["certificate"]["ci95"] if "certificate" in row else row["far_ci95"]


def tries_in_words(row: dict) -> tuple[str, ...]:
    """Formats the rates of a threshold with one and with several tries, for the columns `TRIES`.

    Args:
        row: Entry of a card's `thresholds` with `best_of_tries`.
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
    """Formats the number of people that a rate needs: `29 to 600`, or `about 59`.

    Args:
        count: The smallest and the largest number, or one number in older cards.
    """
    if isinstance(count, int):
        return f"about {count:,}"
    fewest, most = count
    return f"{fewest:,} to {most:,}"


def percents(bounds: Sequence[float], unit: str = " %") -> str:
    """Formats an interval in percent: `0.6 to 3.1 %`."""
    low, high = (f"{100 * bound:.{_digits(bounds)}f}" for bound in bounds)
    return f"{low} to {high}{unit}"


def _digits(bounds):
    """Returns the decimals of percents: two for an interval narrower than half a percent."""
    return 2 if bounds[1] - bounds[0] < 0.005 else 1


def read_json(path: pathlib.Path) -> dict:
    """Reads a JSON file.

    A number too large for a float becomes infinity, which `schema.validate` refuses with its place.

    Raises:
        ValueError: If the file is damaged.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_int=_whole)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(
            f"{path} is not a JSON file ({error}). It is damaged; install the package again."
        ) from error


def _whole(digits):
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)
