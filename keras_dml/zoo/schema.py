"""Defines the schema of a model card, which lists the required keys and checks their values. A card
may have further keys. The docstring of each function that checks a value is the end of an error
message, after the words "must be".
"""

import re
import sys
from typing import Any

# Names in `keras_dml.scoring`, which is not imported here, because it imports NumPy.
SCORINGS = ("nearest", "mean", "two_covariance")


def number(value: Any) -> bool:
    """a number"""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def above_zero(value: Any) -> bool:
    """a number above 0"""
    return number(value) and not value <= 0


def number_or_null(value: Any) -> bool:
    """a number or null"""
    return value is None or number(value)


def whole(value: Any) -> bool:
    """a whole number, at least 0"""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def whole_or_null(value: Any) -> bool:
    """a whole number or null"""
    return value is None or whole(value)


def text(value: Any) -> bool:
    """a text that is not empty"""
    return isinstance(value, str) and bool(value.strip())


def text_or_null(value: Any) -> bool:
    """a text that is not empty, or null"""
    return value is None or text(value)


def interval(value: Any) -> bool:
    """an interval [low, high]"""
    return isinstance(value, list) and len(value) == 2 and all(map(number, value))


def scoring(value: Any) -> bool:
    """one of: nearest, mean, two_covariance"""
    return value in SCORINGS


def repeats(value: Any) -> bool:
    """one of: days, sessions, blocks, others"""
    return value in ("days", "sessions", "blocks", "others")


def kind_of_baseline(value: Any) -> bool:
    """one of: no network, instead, same model, other probes"""
    return value in ("no network", "instead", "same model", "other probes")


def file_name(value: Any) -> bool:
    """the name of a file in the card's folder"""
    return text(value) and not set("/\\") & set(value) and value not in (".", "..")


def digest(value: Any) -> bool:
    """a SHA-256 in 64 hexadecimal digits"""
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def boolean(value: Any) -> bool:
    """true or false"""
    return isinstance(value, bool)


def numbers_or_null(value: Any) -> bool:
    """a list of numbers, at least 0, or null"""
    return value is None or (
        isinstance(value, list) and all(number(item) and item >= 0 for item in value)
    )


def mapping(value: Any) -> bool:
    """an object"""
    return isinstance(value, dict)


def licences(value: Any) -> bool:
    """a list with at least one license, as SPDX identifiers"""
    return isinstance(value, list) and bool(value) and all(map(text, value))


LARGEST = sys.float_info.max

# In a schema, a dict lists the keys of an object, the only entry of a list describes every item, a
# tuple lists alternatives, and a function checks a value. Keys that end with ? are optional.
RECORDINGS: dict[str, Any] = {
    "channels": [text],
    "units": [text],
    "rate_hz": number_or_null,  # null if the steps are events
    "dtype": text,
    "length": [whole_or_null],
}
IMAGES: dict[str, Any] = {"channels": [text], "units": [text], "size": [whole], "dtype": text}
OF_PEOPLE: dict[str, Any] = {
    "builder": text,
    "licence": text,
    "licences?": licences,
    "train_subjects": [text],
    "test_subjects": [text],
    "consent": text,
    "digests?": {"salt": text, "people": [text]},  # if `train_subjects` contains numbers
}
# `split` says how test data differ from training data: other images of the same classes, other
# classes, or another domain.
OF_CLASSES: dict[str, Any] = {
    "builder": text,
    "licence": text,
    "licences?": licences,
    "train_classes": [text],
    "test_classes": [text],
    "split": text,
    "consent": text,
}
FIGURE: dict[str, Any] = {
    "protocol": text,
    "n": whole,
    "metric": text,
    "value": number,
    "stderr": number,
    "trials": whole,
    "fraction?": number_or_null,
    "people?": whole,
    "domain?": text,
    "ways?": whole,
    "shots?": whole,
    "attack?": text,
    "epsilon?": number,
    "head?": text,
    "score?": text,
    "folds?": [number],
    "ci95?": [number],
}
# `people` is the number of people in the test, and `gallery` is the number of people with whom each
# probe is compared. Confidence intervals are computed over people, or over the units that `unit`
# names, such as motions. `repeats` says how enrolled recordings differ from probes: other days,
# other blocks of the same session, or recordings of other people.
POOLED = {"metric": text, "value": number, "ci95": interval}
HEADLINE_OF_PEOPLE: dict[str, Any] = {
    "trials": text,
    "repeats": repeats,
    "people": whole,
    "gallery": whole,
    "gallery_most?": whole,
    "probes": whole,
    "enrolled": whole,
    "unit?": text,
    "rows": [POOLED],
}
UNMEASURED = {"unmeasured": text}  # reason why there are no figures
HEADLINE_OF_IMAGES: dict[str, Any] = {
    "trials": text,
    "images": whole,
    "unit?": text,
    "rows": [POOLED],
}
# Results of another method on the same trials. `difference` is the model's figure minus the
# method's figure. For classifiers of images, `difference` also contains the p-value of McNemar's
# exact test.
BASELINE: dict[str, Any] = {
    "name": text,
    "what": text,
    "kind": kind_of_baseline,
    "rows": [POOLED],
    "difference": {**POOLED, "mcnemar_p?": number},
}
# Evidence for the false accept rate of a threshold. `ci95` is the 95 % interval for the rate that
# would be measured on the same number of other people. `independent` is the number of independent
# pairs of people that would give the same information as the trials. `strictest` is the lowest rate
# that can be certified from this number of pairs. `people_needed` maps rates below `strictest` to
# the number of people that would be needed to certify these rates. The entry is a single number, or
# a pair of the smallest and the largest number of people.
CERTIFICATE = {
    "ci95": interval,
    "independent": number,
    "strictest": number,
    "people_needed": mapping,
}
# Rates for claims with several tries, of which only one must be accepted, and rates of the same
# people for a single try.
BEST_OF_TRIES = {
    "tries": whole,
    "far": number,
    "far_ci95": interval,
    "far_once": number,
    "tar": number,
    "tar_ci95": interval,
    "tar_once": number,
    "people": whole,
    "pairs": whole,
}
# `within` is the false accept rate between people who have the same value of a known confounder.
# `carried` describes how a threshold was derived from the models of a cross-validation. Thresholds
# that were set with the published model have no entry `carried`. `method` says whether the rate was
# counted or extrapolated. The interval of the rate is in `certificate`, or in `far_ci95` for cards
# without `certificate`.
THRESHOLD: dict[str, Any] = {
    "far": number,
    "value": number,
    "trials": whole,
    "far_ci95?": interval,
    "tar": number,
    "tar_ci95": interval,
    "score": text,
    "scoring?": scoring,  # if it is missing, the threshold holds for the scoring `nearest`
    "enrolled": whole,
    "people": whole,
    "carried?": text,
    "method?": text,
    "certificate?": CERTIFICATE,
    "within?": [{"confounder": text, "far": number, "far_ci95": interval, "trials": whole}],
    "best_of_tries?": BEST_OF_TRIES,
}
# Error rates by group of people (ISO/IEC 19795-10). The threshold is for the false accept rate
# `far` over all people. Groups are sorted from the highest to the lowest false reject rate.
GROUPS: dict[str, Any] = {
    "attribute": text,
    "far": number,
    "rows": [
        {
            "group": text,
            "people": whole,
            "frr": number,
            "frr_ci95": interval,
            "far": number,
            "far_ci95": interval,
            "trials": whole,
        }
    ],
}
# Number of test recordings that the quality gate refuses, and number of all test recordings.
REFUSED = {"refused": whole, "recordings": whole}
# Attacks that were measured, and attacks that were not measured.
ATTACKS = {"measured": text, "not_measured": text}
# Scoring of the headline, how it was chosen, and the other scorings on the same trials.
SCORING = {"name": scoring, "choice": text, "rivals": [BASELINE]}
# Distances of false claims by people who are not in the training data, in units of the published
# model's distance.
IMPOSTERS = {"mean": number, "stddev": above_zero}
# Thresholds for exported files whose distance differs from the model's distance.
DEVICE_THRESHOLD: dict[str, Any] = {**THRESHOLD, "distance": text}
# Thresholds for the file of a stream, whose embeddings describe the last `window` steps.
STREAM_THRESHOLD: dict[str, Any] = {**THRESHOLD, "window": whole}
EXPORT = {
    "format": text,
    "quantization?": text_or_null,
    "bytes": whole,
    "latency_ms": number,
    "drift": number,
    "change_of_distance?": number,
}

# Usual properties of the training recordings, and the smallest number of steps to which these
# properties apply. `sha256` is the digest of the potato's file.
QUALITY = {
    "is_sound": boolean,
    "stddev": numbers_or_null,
    "steps?": whole,
    "crest_db?": number,
    "flags?": [text],
    "events?": boolean,
    "sha256?": digest,
}

# Float32 TFLite file of the model for `keras_dml.edge`, in the card's folder.
EDGE = {"file": file_name, "sha256": digest}

CARD: dict[str, Any] = {
    "name": text,
    "task": text,
    "paper": text,
    "model": {"file": file_name, "sha256": digest, "parameters": whole},
    "input": (RECORDINGS, IMAGES),
    "embedding": {"shape": [whole], "distance": text, "p?": number_or_null},
    "data": (OF_PEOPLE, OF_CLASSES),
    "headline": (HEADLINE_OF_PEOPLE, HEADLINE_OF_IMAGES, UNMEASURED),
    "choice?": text,  # how the method was chosen, if the headline measures the choice too
    "scoring?": SCORING,
    "baselines": [BASELINE],
    "figures": [FIGURE],
    "figures_are?": text,
    "thresholds": [THRESHOLD],
    "imposters?": IMPOSTERS,
    "groups?": [GROUPS],
    "refused?": REFUSED,
    "attacks?": ATTACKS,
    "device_thresholds?": [DEVICE_THRESHOLD],
    "stream_thresholds?": [STREAM_THRESHOLD],
    "exports": [
        ({**EXPORT, "auc_change": number_or_null}, {**EXPORT, "accuracy_change": number_or_null})
    ],
    "exports_are?": text,
    "golden": {"input": file_name, "atol": above_zero},
    "limits": [text],
    "quality?": QUALITY,
    "edge?": EDGE,
    "is_own?": boolean,
    "folder?": text,  # path in the repository of a model that is not part of the zoo
    "recipe": {
        "command": text,
        "seed": whole,
        "versions": mapping,
        "date": text,
        "minutes": number,
    },
}


def problems(card: Any, wanted: Any = CARD) -> list[str]:
    """Lists the missing and invalid values of a card.

    Args:
        card: The parsed JSON of a card, or a part of it.
        wanted: Schema for `card`.

    Returns:
        List of sentences, which is empty if the card is valid.
    """
    result = [*_infinite_numbers(card), *_differences(card, wanted, "card")]
    return result if result or wanted is not CARD else list(_contradictions(card))


def validate(card: Any, title: str, wanted: Any = CARD) -> dict[str, Any]:
    """Checks a card and returns it unchanged.

    Args:
        card: The parsed JSON of a card.
        title: Origin of the card, which is the beginning of the error message.
        wanted: Schema of the card.

    Raises:
        ValueError: If the card is invalid. The message lists all problems.
    """
    errors = problems(card, wanted)
    if errors:
        raise ValueError(
            f"{title} is not a valid card: {'; '.join(errors)}. Correct the card, or run the "
            "recipe of the model, which writes the card."
        )
    return card


def _differences(value, wanted, path):
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            yield f"{path} must be an object"
            return
        for named, part in wanted.items():
            key = named.removesuffix("?")
            if key in value:
                yield from _differences(value[key], part, f"{path}.{key}")
            elif key == named:
                yield f"{path}.{key} is missing"
    elif isinstance(wanted, list):
        if not isinstance(value, list):
            yield f"{path} must be a list"
            return
        for i, item in enumerate(value):
            yield from _differences(item, wanted[0], f"{path}[{i}]")
    elif isinstance(wanted, tuple):
        alternatives = [list(_differences(value, part, path)) for part in wanted]
        yield from min(alternatives, key=len)  # differences from the most similar alternative
    elif not wanted(value):
        yield f"{path} must be {wanted.__doc__}"


def _infinite_numbers(card):
    """Yields a sentence for each number that is not finite.

    Cards must not contain NaN, because checks such as `value < 0` do not detect NaN. Cards must not
    contain infinity, because every model would pass a test with an infinite tolerance. Integers
    that are too large for a float are also refused, because formatting them raises an error.
    """
    rest = [("card", card)]
    while rest:
        path, value = rest.pop()
        if isinstance(value, dict):
            rest += [(f"{path}.{key}", part) for key, part in value.items()]
        elif isinstance(value, list):
            rest += [(f"{path}[{i}]", part) for i, part in enumerate(value)]
        elif number(value) and not -LARGEST <= value <= LARGEST:
            yield f"{path} must be a finite number"


def _contradictions(card):
    described, data = card["input"], card["data"]
    if not described["channels"] or len(described["units"]) != len(described["channels"]):
        yield (
            f"card.input.units must have one entry per channel ({len(described['channels'])}), but "
            f"has {len(described['units'])}"
        )
    if "size" in described:
        if len(described["size"]) != 2 or not all(described["size"]):
            yield "card.input.size must be [height, width] in pixels, each at least 1"
    else:
        length = described["length"]
        if len(length) != 2 or not length[0] or (length[1] is not None and length[1] < length[0]):
            yield (
                "card.input.length must be [smallest, largest] or [smallest, null], where the "
                "smallest length is at least 1"
            )
    if not number(card["embedding"].get("p", 1)):
        yield "card.embedding.p, the order of the distance, must be a number"
    measured = "unmeasured" not in card["headline"]
    if measured and not {"eer", "accuracy"} & _metrics(card["headline"]):
        yield "card.headline.rows must contain the metric eer or accuracy"
    for i, baseline in enumerate(card["baselines"]):
        if baseline["difference"]["metric"] not in _metrics(baseline):
            yield (
                f"card.baselines[{i}].difference.metric must be the metric of one of the "
                "baseline's rows"
            )
    for key in ("thresholds", "device_thresholds", "stream_thresholds"):
        for i, row in enumerate(card.get(key, ())):
            if "certificate" not in row and "far_ci95" not in row:
                yield f"card.{key}[{i}] must contain certificate or far_ci95"
    overlap = set(data.get("train_subjects", ())) & set(data.get("test_subjects", ()))
    if overlap:
        yield f"card.data lists {len(overlap)} people in both train_subjects and test_subjects"
    for key in ("figures", "limits") if measured else ("limits",):
        if not card[key]:
            yield f"card.{key} must not be empty"


def _metrics(measured):
    return {row["metric"] for row in measured["rows"]}
