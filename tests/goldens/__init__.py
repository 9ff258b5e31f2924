"""Worked examples with known answers, as JSON files.

The files `seeds_p1` to `seeds_p3` follow the definitions of Abdelwahab2019, Monteiro2020 and
Kim2020, in float64. The files `tfa`, `tfsim` and `toolbox` contain values that TensorFlow Addons
0.23, TensorFlow Similarity 0.17 and the Adversarial Robustness Toolbox 1.20 computed in float32.
The file `lir` contains values that lir 1.3 computed in float64.

The numbers in the names of the files follow the order of these three papers. JSON has no infinity
and no NaN, so the files store these values as strings. This module converts the strings to floats.
"""

import functools
import json
import math
import pathlib

FOLDER = pathlib.Path(__file__).parent
NOT_IN_JSON = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def golden(example_id, seeds="seeds_p1"):
    """Returns the worked example with the given id.

    By default, the example is in `seeds_p1.json`. An example is a dict with the keys `inputs`,
    `expected` and `tolerance`, and some examples have the key `gradient`.
    """
    examples = {example["id"]: example for example in load(seeds)["examples"]}
    if example_id not in examples:
        raise KeyError(f"No golden example {example_id!r}. There are {', '.join(examples)}.")
    return examples[example_id]


@functools.cache
def load(name):
    """Returns the whole file `name.json` as a dict."""
    return _with_floats(json.loads((FOLDER / f"{name}.json").read_text()))


def _with_floats(value):
    if isinstance(value, dict):
        return {key: _with_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_floats(item) for item in value]
    if isinstance(value, str):
        return NOT_IN_JSON.get(value, value)
    return value
