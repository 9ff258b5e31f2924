"""Names, cards and one-line descriptions of the models, without loading Keras."""

import fnmatch
import json
import math

from keras_dml.zoo import lookup, schema

TRIES = ("FAR wanted", "FAR, once", "FAR, best of tries", "TAR, once", "TAR, best of tries")
ACRONYMS = ("auc", "eer", "tar", "far")
MAX_DIGITS = 20  # of an integer; a count of bytes has fewer
LESS = " less "  # in the name of a difference of two heads
SHOTS = {"ways": "way", "shots": "shot"}
# How the metrics begin that are given in percent.
RATES = ("eer", "accuracy", "misidentification", "tar_at_far", "recall_at")


def list_models(pattern="*"):
    """Names of the models, sorted.

    Args:
        pattern: A shell-style wildcard that the names must match, such as `"eeg_*"`.

    Returns:
        List of names, empty where none matches.

    Raises:
        NotADirectoryError: If KERAS_DML_ZOO names no folder.

    Example:
        >>> keras_dml.zoo.list_models("gait_*")
        ['gait_lda', 'gait_qp_wl']
    """
    return fnmatch.filter(lookup.names(), pattern)


def card(name):
    """The card of a model: input, data and its license, figures, limits, recipe.

    Args:
        name: Name of a model of the zoo, or the path of a model's folder.

    Returns:
        The card as a dict; `keras_dml.zoo.schema.CARD` describes its keys.

    Raises:
        ValueError: If there is no such model (the message gives the nearest names), or its card is
            damaged or, by name, another model's.
        FileNotFoundError: If the path is no folder with a card.
        TypeError: If `name` is neither a string nor a path.
    """
    is_path = lookup.is_path(name)
    path = (lookup.folder_at(name) if is_path else lookup.find(name)) / lookup.CARD
    found = schema.validate(read_json(path), f"{path}")
    if not is_path and found["name"] != name:
        raise ValueError(
            f"{path} is the card of {found['name']!r} and lies in the folder {name!r}. Name the "
            "folder as the card, or put the right card there."
        )
    return found


def info(name):
    """One line about a model: task, input, size, error rates.

    Args:
        name: Name of the model.

    Returns:
        A string without line breaks.

    Raises:
        ValueError, TypeError: See `card`.
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
    """`6 channels at 100 Hz`, `images of 28 × 28 pixels, 1 channel`."""
    taken = card["input"]
    channels = counted(len(taken["channels"]), "channel")
    if "size" in taken:
        return f"images of {extent_in_words(card)}, {channels}"
    return f"{channels} at {taken['rate_hz']:g} Hz"


def extent_in_words(card):
    """`64 steps or more at 100 Hz`, `28 × 28 pixels`."""
    taken = card["input"]
    if "size" in taken:
        return f"{' × '.join(map(str, taken['size']))} pixels"
    min_steps, max_steps = taken["length"]
    if max_steps is None:
        steps = f"{min_steps} steps or more"
    elif min_steps == max_steps:
        steps = f"{min_steps} steps"
    else:
        steps = f"{min_steps} to {max_steps} steps"
    return f"{steps} at {taken['rate_hz']:g} Hz"


def known_in_words(card):
    """`("people", "135 trained on, 45 tested on")`, or `("classes", ...)`; of a model of one's own,
    which may be one that nobody was trained on, `("people", "made with 6")`."""
    data = card["data"]
    if card.get("is_own"):
        return "people", f"made with {len(data['train_subjects'])}"
    trained, tested, what = (
        (data["train_subjects"], data["test_subjects"], "people")
        if "train_subjects" in data
        else (data["train_classes"], data["test_classes"], "classes")
    )
    return what, f"{len(trained)} trained on, {len(tested)} tested on"


def is_classifier(card):
    """Whether a model is a `PrototypicalClassifier`."""
    from keras_dml import distances  # loads Keras

    return distances.declared(card["embedding"]["distance"]).is_learned


def figures_in_words(card):
    """The headline, and of attacks the strongest.

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
    counted = (
        f"{headline['images']:,} images"
        if "images" in headline
        else (f"{headline['probes']:,} probes of {headline['people']} people")
    )
    figure = with_interval(row["value"], row["ci95"])
    return f"{metric_in_words(row['metric'])} {figure} ({counted})"


def setting(row):
    """Conditions of a figure, `20-way 1-shot`, `fgsm at 0.3, dol head`; empty where there are none.

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


def protocol_in_words(card, row):
    """`few shot`, `block verification`: where all recordings of a person are of one sitting, what
    the protocols call sessions are its blocks.

    Args:
        card: A card.
        row: Row of its `figures`.
    """
    words = row["protocol"].replace("_", " ")
    one_sitting = card["headline"].get("repeats") == "blocks"
    return words.replace("session", "block") if one_sitting else words


def value_in_words(row):
    """Returns the value of a figure with its 95 % interval, `2.3 % [0.6 to 3.1]`, or with its
    standard error, `99.31 % ± 0.08`, `0.9982 ± 0.0009`.

    Where no error was seen, a rate has the 95 % bound by the rule of three, `0 %, at most 7.7 %`.

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


def change_in_words(row):
    """`-0.0004`: change of the figure by an export; a dash where it is not known.

    Args:
        row: Entry of a card's `exports`.
    """
    change = row.get("auc_change", row.get("accuracy_change"))
    return "–" if change is None else f"{round(change, 4) + 0.0:+.4f}"  # no minus before zeros


def _head(row):
    head = row.get("head")
    return head if head is None or LESS in head else f"{head} head"


def _without_error(row):
    """A value that is the same in each repetition or fold."""
    if not is_rate(row):
        return f"{row['value']:.4g}"
    bound = min(1, 3 / row.get("people", row["trials"]))
    limits = {0: f", at most {100 * bound:.2g} %", 1: f", at least {100 * (1 - bound):.2g} %"}
    return f"{100 * row['value']:g} %{limits.get(row['value'], '')}"


def is_rate(row):
    """Whether a figure is given in percent."""
    return row["metric"].startswith(RATES)


def counted(count, word):
    """`1 channel`, `6 channels`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def percent(value, stderr):
    """`2.1 % ± 0.3`: a fraction and its standard error in percent, no finer than the error."""
    digits = 1 if 100 * stderr >= 0.1 else 2
    return f"{100 * value:.{digits}f} % ± {100 * stderr:.{digits}f}"


def metric_in_words(name):
    """`EER`, `TAR at FAR 1 %`: acronyms as the field writes them."""
    start, at, far = name.partition("_at_far_")
    words = " ".join(word.upper() if word in ACRONYMS else word for word in start.split("_"))
    return f"{words} at FAR {100 * float(far):g} %" if at else words


def with_interval(value, bounds):
    """`2.3 % [0.6 to 3.1]`: a fraction with its interval in percent."""
    return f"{100 * value:.{_digits(bounds)}f} % [{percents(bounds, unit='')}]"


def points(value, bounds):
    """`-2.3 points [-4.0 to -0.6]`: a difference of fractions with its interval, in percentage
    points."""
    return f"{100 * value:.{_digits(bounds)}f} points [{percents(bounds, unit='')}]"


def far_interval(row):
    """The 95 % interval of the false accept rate of a threshold.

    A threshold that was chosen on the people who show its rate has the interval of its certificate:
    an interval over these people takes the threshold as given and covers far too rarely.

    Args:
        row: Entry of a card's `thresholds`.
    """
    return row["certificate"]["ci95"] if "certificate" in row else row["far_ci95"]


def tries_in_words(row):
    """Returns the rates of a threshold with one and with several tries, as `TRIES` names them.

    Args:
        row: Entry of a card's `thresholds` with `best_of_tries`.
    """
    found = row["best_of_tries"]
    return (
        f"{100 * row['far']:g} %",
        f"{100 * found['far_once']:.1f} %",
        with_interval(found["far"], found["far_ci95"]),
        f"{100 * found['tar_once']:.1f} %",
        with_interval(found["tar"], found["tar_ci95"]),
    )


def people_in_words(count):
    """How many people a rate takes: `29 to 600`, or `about 59` of cards with one number.

    Args:
        count: The fewest and the most people, or a number.
    """
    if isinstance(count, int):
        return f"about {count:,}"
    fewest, most = count
    return f"{fewest:,} to {most:,}"


def percents(bounds, unit=" %"):
    """`0.6 to 3.1 %`: an interval in percent."""
    low, high = (f"{100 * bound:.{_digits(bounds)}f}" for bound in bounds)
    return f"{low} to {high}{unit}"


def _digits(bounds):
    """Digits behind the point of percents: two for an interval narrower than half a percent."""
    return 2 if bounds[1] - bounds[0] < 0.005 else 1


def read_json(path):
    """The object in a JSON file. A number too large for a float becomes infinity, which
    `schema.validate` refuses with its place.

    Raises:
        ValueError: If the file is damaged.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_int=_whole)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(
            f"{path} is no JSON file ({error}). It is damaged; install the package again."
        ) from error


def _whole(digits):
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)
