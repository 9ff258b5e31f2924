"""Draws random damaged bytes, unexpected JSON values and recordings."""

import json

import numpy as np

NAN = float("nan")
RAW = ("1e999", "-1e999", "NaN", "-Infinity", "1" + 400 * "0", "1" + 5000 * "0", "1e-999")
DEEP = 20_000 * "[" + 20_000 * "]"
TEXTS = (
    "\x1b[31mred\x1b[0m\x07",
    "\x1b]0;title\x07",
    "[/]",
    "[bold]",
    "a\x00b\x08\r",
    "\u202etxt.exe",
    "",
    " ",
    "../../etc",
    "\ud800",
    100_000 * "x",
)
KINDS = (None, True, -1, 0.5, "text", [], {}, [[]], {"a": None}, [None, "x"])


def damaged(rng, data):
    """Returns bytes with one to four random changes: flips, cuts, insertions, copies or zeros."""
    for _ in range(rng.integers(1, 5)):
        at, length = int(rng.integers(len(data) + 1)), int(rng.integers(1, 65))
        piece = data[at : at + length]
        data = (
            data[:at] + bytes(255 - byte for byte in piece[:1]) + data[at + 1 :],
            data[:at] if rng.random() < 0.5 else data[:at] + data[at + length :],
            data[:at] + rng.bytes(length) + data[at:],
            data[:at] + piece + data[at:],
            data[:at] + bytes(len(piece)) + data[at + length :],
        )[rng.integers(5)]
    return data


def json_paths(value, path=()):
    """Returns the paths of all values in parsed JSON, as tuples of keys and positions."""
    found = [path] if path else []
    items = enumerate(value) if isinstance(value, list) else ()
    for key, part in value.items() if isinstance(value, dict) else items:
        found += json_paths(part, (*path, key))
    return found


def at(value, path):
    """Returns the value at a path in parsed JSON."""
    for key in path:
        value = value[key]
    return value


def spoiled_json(rng, text):
    """Replaces a random value in a JSON text. Returns the text and the path of the value."""
    content = json.loads(text)
    paths = json_paths(content)
    path = paths[rng.integers(len(paths))]
    holder = at(content, path[:-1])
    mark = "here stands another value"
    holder[path[-1]] = mark
    kind = rng.integers(4)
    if kind == 0:
        value = json.dumps(KINDS[rng.integers(len(KINDS))])
    elif kind == 1:
        value = json.dumps(TEXTS[rng.integers(len(TEXTS))])
    else:
        value = RAW[rng.integers(len(RAW))] if kind == 2 or rng.random() < 0.8 else DEEP
    return json.dumps(content).replace(json.dumps(mark), value), path


def draw(rng, choices):
    """Returns a random element of a sequence, without a conversion to NumPy."""
    return choices[int(rng.integers(len(choices)))]


def recording(rng, steps, channels=3):
    """Returns a recording of finite numbers, float32."""
    return rng.normal(size=(steps, channels)).astype(np.float32)
