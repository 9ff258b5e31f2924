"""Calls a .tflite file with inputs that break its contract. Usage: `fuzz_worker.py FILE FIRST LAST
SEED LEAST MOST`.

The script prints the number of each call before the call, and the outcome after the call. If a call
crashes this process, the parent process knows the number of the call. The script needs only NumPy
and ai-edge-litert.
"""

import json
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

INT32 = np.iinfo(np.int32)
MOST_STEPS = 600  # a random recording has at most this many steps more than the smallest number
NAN, FINITE, REFUSED, ANY = "nan", "finite", "refused", "any"
KINDS = (
    *("plain",) * 4,
    *("length",) * 4,
    *("not finite",) * 4,
    "batch",
    "channels",
    "constant",
    "few steps",
    "huge",
    "rank",
    "silence",
    "tiny",
)


def main(file, first, last, seed, least, most):
    interpreter = Interpreter(model_path=file, num_threads=1)
    embed = interpreter.get_signature_runner("embed")
    distance = interpreter.get_signature_runner("distance")
    details = embed.get_input_details()
    (name,) = set(details) - {"length"}
    shape = shape_of(embed, name)
    draw = Recordings(shape, least, most) if "length" in details else Arrays(name, shape)
    rows = shape_of(distance, "gallery")[0]
    gallery = usual(embed, draw, seed)
    gallery = gallery if rows < 0 else np.resize(gallery, (rows, *gallery.shape[1:]))
    for i in range(first, last):
        print(i, end=" ", flush=True)
        kind, inputs, due = draw(np.random.default_rng([seed, i]))
        actual = outcome(embed, distance, inputs, gallery)
        print(json.dumps({"kind": kind, "due": due, "given": actual}), flush=True)


def shape_of(runner, argument):
    """Returns the shape of an argument of a signature, with -1 for each axis of any size."""
    details = runner.get_input_details()[argument]
    shape = details["shape_signature"]
    return (shape if len(shape) else details["shape"]).tolist()


def usual(embed, draw, seed):
    """Computes the embeddings of two valid inputs."""
    rng = np.random.default_rng(seed)
    return np.concatenate([embed(**draw.plain(rng))["embedding"].copy() for _ in range(2)])


def outcome(embed, distance, inputs, gallery):
    """Returns the outcome of `embed` and `distance`, which is NaN, finite or refused by LiteRT."""
    try:
        embedding = embed(**inputs)["embedding"].copy()
    except (RuntimeError, ValueError):
        return REFUSED
    actual = distance(embedding=embedding, gallery=gallery)["distance"]
    if np.isnan(embedding).all() and np.isnan(actual).all():
        return NAN
    if np.isfinite(embedding).all() and np.isfinite(actual).all():
        return FINITE
    return "mixed"


class Recordings:
    """Generator that draws random recordings, shape `(1, time, channels)`, and their lengths."""

    def __init__(self, shape, least, most):
        self.channels, self.least = shape[-1], least
        self.fixed = None if shape[1] < 0 else shape[1]
        self.most = most or INT32.max

    def plain(self, rng):
        steps = self.fixed or int(self.least + rng.integers(MOST_STEPS))
        signal = rng.normal(size=(1, steps, self.channels)) / 10
        return {"signal": signal.astype(np.float32), "length": np.int32(steps)}

    def __call__(self, rng):
        kind = str(rng.choice(KINDS))
        inputs = self.plain(rng)
        signal, length = inputs["signal"], int(inputs["length"])
        due = FINITE
        if kind == "length":
            edges = [INT32.min, -3, -1, 0, 1, self.least - 1, self.least]
            edges += [length - 1, length + 1, INT32.max]
            length = int(rng.choice([*edges, rng.integers(INT32.min, INT32.max)]))
        elif kind == "not finite":
            step = int(rng.integers(length))
            length = int(rng.integers(self.least, length + 1))
            signal[0, step, rng.integers(self.channels)] = rng.choice([np.nan, np.inf, -np.inf])
            due = NAN if step < length else FINITE
        elif kind == "batch":
            signal, due = np.repeat(signal, rng.choice([0, 2, 3]), axis=0), REFUSED
        elif kind == "channels":
            more = np.concatenate([signal, signal[:, :, :1]], axis=2)
            signal = more if self.channels == 1 or rng.integers(2) else signal[:, :, 1:]
            due = REFUSED
        elif kind == "few steps":
            signal = signal[:, : rng.integers(self.least)]
            length, due = signal.shape[1], NAN if self.fixed is None else REFUSED
        elif kind == "rank":
            signal, due = (signal[0] if rng.integers(2) else signal[None]), REFUSED
        elif kind in EXTREMES:
            signal, due = EXTREMES[kind](signal)
        longest = min(signal.shape[1], self.most) if due == FINITE else length
        if due == FINITE and not self.least <= length <= longest:
            due = NAN
        return kind, {"signal": signal.astype(np.float32), "length": np.int32(length)}, due


class Arrays:
    """Generator of random images or symmetric matrices, shape `(1, ...)`."""

    def __init__(self, name, shape):
        self.name, self.shape = name, shape

    def plain(self, rng):
        x = rng.random(self.shape)
        return {self.name: (x if self.name == "image" else x @ x.swapaxes(1, 2)).astype("float32")}

    def __call__(self, rng):
        kind = str(rng.choice(KINDS))
        ((name, x),) = self.plain(rng).items()
        due = FINITE
        if kind in ("not finite", "length"):
            x.reshape(-1)[rng.integers(x.size)] = rng.choice([np.nan, np.inf, -np.inf])
            due = NAN
        elif kind == "batch":
            x, due = np.repeat(x, rng.choice([0, 2, 3]), axis=0), REFUSED
        elif kind in ("channels", "few steps"):
            x, due = x[:, : rng.integers(x.shape[1])], REFUSED
        elif kind == "rank":
            x, due = (x[0, 0] if rng.integers(2) else x[:, :, None, :1]), REFUSED
        elif kind in EXTREMES:
            x, due = EXTREMES[kind](x)
        return kind, {name: x.astype(np.float32)}, due


EXTREMES = {
    "constant": lambda x: (np.full_like(x, 0.5), FINITE),
    "huge": lambda x: (x * np.float32(1e37), ANY),
    "silence": lambda x: (np.zeros_like(x), FINITE),
    "tiny": lambda x: (x * np.float32(1e-42), FINITE),
}

if __name__ == "__main__":
    file, *numbers = sys.argv[1:]
    main(file, *map(int, numbers))
