"""Schema of a card: the keys that others rely on. Further keys are allowed."""

import sys

from keras_dml.zoo.values import (
    above_zero,
    boolean,
    digest,
    file_name,
    interval,
    kind_of_baseline,
    mapping,
    number,
    number_or_null,
    numbers_or_null,
    repeats,
    text,
    text_or_null,
    whole,
    whole_or_null,
)

LARGEST = sys.float_info.max

# A dict names keys, a list of one entry says what each item is, a tuple names alternatives, a
# function checks a value. A key that ends in ? may be missing.
RECORDINGS = {
    "channels": [text],
    "units": [text],
    "rate_hz": number,
    "dtype": text,
    "length": [whole_or_null],
}
IMAGES = {"channels": [text], "units": [text], "size": [whole], "dtype": text}
OF_PEOPLE = {
    "builder": text,
    "licence": text,
    "train_subjects": [text],
    "test_subjects": [text],
    "consent": text,
    "digests?": {"salt": text, "people": [text]},  # of people who are numbers in `train_subjects`
}
# `split` says how test data are kept from training: other images of the same classes, other
# classes, another domain.
OF_CLASSES = {
    "builder": text,
    "licence": text,
    "train_classes": [text],
    "test_classes": [text],
    "split": text,
    "consent": text,
}
FIGURE = {
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
# `people` are tested, and a probe is compared with `gallery` of them. Intervals are over people, or
# over the `unit` that is named, such as motions. `repeats` says whether the recordings of a person
# are of other days or are blocks of one sitting, or that those enrolled are of other people.
POOLED = {"metric": text, "value": number, "ci95": interval}
HEADLINE_OF_PEOPLE = {
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
UNMEASURED = {"unmeasured": text}  # too few people for a figure, in words
HEADLINE_OF_IMAGES = {"trials": text, "images": whole, "unit?": text, "rows": [POOLED]}
# Another method on the same trials; `difference` is the model's figure less that method's, with the
# p of McNemar's exact test where both answer about images.
BASELINE = {
    "name": text,
    "what": text,
    "kind": kind_of_baseline,
    "rows": [POOLED],
    "difference": {**POOLED, "mcnemar_p?": number},
}
# What the people of a threshold support: the interval of the rate of as many other people, how many
# independent pairs of people the trials are worth, the lowest rate that these support, and about
# how many people lower ones would take, by their text: the fewest and the most, or one number.
CERTIFICATE = {
    "ci95": interval,
    "independent": number,
    "strictest": number,
    "people_needed": mapping,
}
# The rates where a claim is accepted if any of several tries is, beside those of a single try of
# the same people.
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
# `within` is the rate between people of one group of a known confounder. `carried` says how a
# threshold came from models of other people; without it, it is the file's own. `method` is whether
# its rate was counted or extrapolated. The interval of the rate is that of the certificate;
# `far_ci95` is that of cards without a certificate.
THRESHOLD = {
    "far": number,
    "value": number,
    "trials": whole,
    "far_ci95?": interval,
    "tar": number,
    "tar_ci95": interval,
    "score": text,
    "enrolled": whole,
    "people": whole,
    "carried?": text,
    "method?": text,
    "certificate?": CERTIFICATE,
    "within?": [{"confounder": text, "far": number, "far_ci95": interval, "trials": whole}],
    "best_of_tries?": BEST_OF_TRIES,
}
# Distances of false claims by people whom the models have not seen, in those of the published file.
IMPOSTERS = {"mean": number, "stddev": above_zero}
# Of models whose files for devices compute another distance than the model: thresholds of that one.
DEVICE_THRESHOLD = {**THRESHOLD, "distance": text}
EXPORT = {
    "format": text,
    "quantization?": text_or_null,
    "bytes": whole,
    "latency_ms": number,
    "drift": number,
    "change_of_distance?": number,
}

# What recordings of training are usually like, and from how many steps on; `sha256` is that of the
# potato's file.
QUALITY = {
    "is_sound": boolean,
    "stddev": numbers_or_null,
    "steps?": whole,
    "crest_db?": number,
    "sha256?": digest,
}

CARD = {
    "name": text,
    "task": text,
    "paper": text,
    "model": {"file": file_name, "sha256": digest, "parameters": whole},
    "input": (RECORDINGS, IMAGES),
    "embedding": {"shape": [whole], "distance": text, "p?": number_or_null},
    "data": (OF_PEOPLE, OF_CLASSES),
    "headline": (HEADLINE_OF_PEOPLE, HEADLINE_OF_IMAGES, UNMEASURED),
    "choice?": text,  # how the method was chosen, where the headline measures that too
    "baselines": [BASELINE],
    "figures": [FIGURE],
    "figures_are?": text,
    "thresholds": [THRESHOLD],
    "imposters?": IMPOSTERS,
    "device_thresholds?": [DEVICE_THRESHOLD],
    "exports": [
        ({**EXPORT, "auc_change": number_or_null}, {**EXPORT, "accuracy_change": number_or_null})
    ],
    "exports_are?": text,
    "golden": {"input": file_name, "atol": above_zero},
    "limits": [text],
    "quality?": QUALITY,
    "is_own?": boolean,
    "recipe": {
        "command": text,
        "seed": whole,
        "versions": mapping,
        "date": text,
        "minutes": number,
    },
}


def problems(card, wanted=CARD):
    """What a card lacks or says wrong.

    Args:
        card: The parsed JSON, or a part of it.
        wanted: What that part must look like.

    Returns:
        List of sentences, empty where all is well.
    """
    found = [*_beyond_numbers(card), *_differences(card, wanted, "card")]
    return found if found or wanted is not CARD else list(_contradictions(card))


def validate(card, title, wanted=CARD):
    """Returns the card as it is.

    Args:
        card: The parsed JSON.
        title: Where it comes from, for the error.
        wanted: What it must look like.

    Raises:
        ValueError: If it lacks something; the message lists all that is wrong.
    """
    found = problems(card, wanted)
    if found:
        raise ValueError(
            f"{title} is no valid card: {'; '.join(found)}. Correct it, or write it by running "
            "the model's recipe."
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
        found = [list(_differences(value, part, path)) for part in wanted]
        yield from min(found, key=len)  # of the alternative that is meant; in doubt the first
    elif not wanted(value):
        yield f"{path} must be {wanted.__doc__}"


def _beyond_numbers(card):
    """Numbers that are not finite. NaN passes comparisons, infinity any tolerance, and a whole
    number too large for a float ends in an error when it is shown."""
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
    taken, data = card["input"], card["data"]
    if not taken["channels"] or len(taken["units"]) != len(taken["channels"]):
        yield (
            f"card.input.units must have one entry a channel, {len(taken['channels'])}, and has "
            f"{len(taken['units'])}"
        )
    if "size" in taken:
        if len(taken["size"]) != 2 or not all(taken["size"]):
            yield "card.input.size must be [height, width] in pixels, each at least 1"
    else:
        length = taken["length"]
        if len(length) != 2 or not length[0] or (length[1] is not None and length[1] < length[0]):
            yield "card.input.length must be [least, greatest or null], the least at least 1"
    if not number(card["embedding"].get("p", 1)):
        yield "card.embedding.p must be a number, the order of the distance"
    measured = "unmeasured" not in card["headline"]
    if measured and not {"eer", "accuracy"} & _metrics(card["headline"]):
        yield "card.headline.rows must hold the metric eer or accuracy"
    for i, baseline in enumerate(card["baselines"]):
        if baseline["difference"]["metric"] not in _metrics(baseline):
            yield f"card.baselines[{i}].difference.metric must be the metric of one of its rows"
    for key in ("thresholds", "device_thresholds"):
        for i, row in enumerate(card.get(key, ())):
            if "certificate" not in row and "far_ci95" not in row:
                yield f"card.{key}[{i}] must have a certificate or far_ci95, an interval"
    both = set(data.get("train_subjects", ())) & set(data.get("test_subjects", ()))
    if both:
        yield f"card.data names {len(both)} people in train_subjects and in test_subjects"
    for key in ("figures", "limits") if measured else ("limits",):
        if not card[key]:
            yield f"card.{key} must not be empty"


def _metrics(measured):
    return {row["metric"] for row in measured["rows"]}
