"""Worked examples with known answers, as JSON: `seeds_p1` to `seeds_p3` from the definitions of
Abdelwahab2019, Monteiro2020 and Kim2020 in float64, `tfa`, `tfsim` and `toolbox` from the
real TensorFlow Addons 0.23, TensorFlow Similarity 0.17 and Adversarial Robustness Toolbox 1.20 in
float32.

The files number the papers in this order. In them infinities and not-a-numbers are strings, because
JSON has none; here they are floats.
"""

import functools
import json
import math
import pathlib

FOLDER = pathlib.Path(__file__).parent
NOT_IN_JSON = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def golden(example_id, seeds="seeds_p1"):
    """The example of `seeds_p1.json` (or of another paper's seeds) with this id: inputs, expected,
    tolerance, maybe gradient."""
    examples = {example["id"]: example for example in load(seeds)["examples"]}
    if example_id not in examples:
        raise KeyError(f"No golden example {example_id!r}. There are {', '.join(examples)}.")
    return examples[example_id]


@functools.cache
def load(name):
    """The whole file `name.json` as a dict."""
    return _with_floats(json.loads((FOLDER / f"{name}.json").read_text()))


def _with_floats(value):
    if isinstance(value, dict):
        return {key: _with_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_floats(item) for item in value]
    if isinstance(value, str):
        return NOT_IN_JSON.get(value, value)
    return value
