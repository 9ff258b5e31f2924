"""Calls an exported model with inputs that break its contract. Usage: `fuzz_worker.py FILE FIRST
LAST SEED LEAST MOST`.

FILE is a .tflite file, the .tflite file of a stream, or a folder of ONNX files. The script prints
the number of each call before the call, and the outcome after the call. If a call crashes this
process, the parent process knows the number of the call. The script needs only NumPy, and
ai-edge-litert or onnxruntime.
"""

import json
import pathlib
import sys

import numpy as np

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
    "gallery",
    "huge",
    "rank",
    "silence",
    "tiny",
)


def main(file, first, last, seed, least, most):
    model = open_model(pathlib.Path(file))
    (name,) = set(model.shapes) - {"length", "state"}
    shape = model.shapes[name]
    if "state" in model.shapes:
        draw = Blocks(shape, model.shapes["state"], least)
    elif "length" in model.shapes:
        draw = Recordings(shape, least, most)
    else:
        draw = Arrays(name, shape)
    gallery = usual(model, draw, seed)
    gallery = gallery if model.rows < 0 else np.resize(gallery, (model.rows, *gallery.shape[1:]))
    for i in range(first, last):
        print(i, end=" ", flush=True)
        rng = np.random.default_rng([seed, i])
        kind, inputs, due = draw(rng)
        if kind == "gallery":
            actual, due = call_with_gallery(model, gallery, rng)
        else:
            actual = outcome(model, inputs, gallery)
        print(json.dumps({"kind": kind, "due": due, "given": actual}), flush=True)


def open_model(path):
    """Returns the model in a .tflite file or a folder of ONNX files.

    A model has the shapes of the arguments of `embed` or `step` (`shapes`, with -1 for each axis of
    any size), the number of rows of its gallery (`rows`), and the methods `embed` and `distance`.
    Both methods raise RuntimeError if the runtime refuses the arguments.
    """
    if path.is_dir():
        return OnnxFolder(path)
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(path), num_threads=1)
    is_stream = "step" in interpreter.get_signature_list()
    return (StreamFile if is_stream else File)(interpreter)


class File:
    """A .tflite file with the signatures `embed` and `distance`."""

    def __init__(self, interpreter, signature="embed"):
        self.interpreter = interpreter
        self._embed = interpreter.get_signature_runner(signature)
        self._distance = interpreter.get_signature_runner("distance")
        self.shapes = {
            name: self._shape(each) for name, each in self._embed.get_input_details().items()
        }
        self.rows = self._shape(self._distance.get_input_details()["gallery"])[0]

    @staticmethod
    def _shape(details):
        shape = details["shape_signature"]
        return (shape if len(shape) else details["shape"]).tolist()

    def embed(self, inputs):
        return self._run(self._embed, inputs)["embedding"]

    def distance(self, embedding, gallery):
        return self._run(self._distance, {"embedding": embedding, "gallery": gallery})["distance"]

    @staticmethod
    def _run(runner, inputs):
        try:
            return {name: values.copy() for name, values in runner(**inputs).items()}
        except ValueError as error:
            raise RuntimeError(str(error)) from error


class StreamFile(File):
    """A .tflite file with the signatures `step`, `read` and `distance`."""

    def __init__(self, interpreter):
        super().__init__(interpreter, "step")
        self._read = interpreter.get_signature_runner("read")

    def embed(self, inputs):
        state = inputs["state"]
        for block in inputs["blocks"]:
            state = self._run(self._embed, {"signal": block, "state": state})["state"]
        return self._run(self._read, {"state": state})["embedding"]


class OnnxFolder:
    """A folder with `embed.onnx` and `distance.onnx`."""

    def __init__(self, folder):
        self._embed, self._distance = (
            self._session(folder / f"{name}.onnx") for name in ("embed", "distance")
        )
        self.shapes = {value.name: self._shape(value) for value in self._embed.get_inputs()}
        self.rows = {value.name: self._shape(value) for value in self._distance.get_inputs()}[
            "gallery"
        ][0]

    @staticmethod
    def _session(file):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4  # errors are raised, and need not be printed
        return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])

    @staticmethod
    def _shape(value):
        return [size if isinstance(size, int) else -1 for size in value.shape]

    def embed(self, inputs):
        return self._run(self._embed, inputs)

    def distance(self, embedding, gallery):
        return self._run(self._distance, {"embedding": embedding, "gallery": gallery})

    @staticmethod
    def _run(session, inputs):
        try:
            (output,) = session.run(None, {name: np.asarray(x) for name, x in inputs.items()})
        except Exception as error:  # ONNX Runtime has a class of errors for each status code
            raise RuntimeError(str(error)) from error
        return output


def usual(model, draw, seed):
    """Computes the embeddings of two valid inputs."""
    rng = np.random.default_rng(seed)
    return np.concatenate([model.embed(draw.plain(rng)) for _ in range(2)])


def outcome(model, inputs, gallery):
    """Returns the outcome of `embed` and `distance`: NaN, finite, or refused by the runtime."""
    try:
        embedding = model.embed(inputs)
    except RuntimeError:
        return REFUSED
    return judged(embedding, model.distance(embedding, gallery))


def judged(*outputs):
    if all(np.isnan(output).all() for output in outputs):
        return NAN
    return FINITE if all(np.isfinite(output).all() for output in outputs) else "mixed"


def call_with_gallery(model, gallery, rng):
    """Calls `distance` with an embedding or a gallery that holds NaN or has a wrong shape.

    Returns:
        The actual outcome and the expected outcome.
    """
    embedding, gallery = gallery[:1].copy(), gallery.copy()
    case = rng.integers(4)
    if case == 0:
        embedding.reshape(-1)[rng.integers(embedding.size)] = np.nan
        return judged(model.distance(embedding, gallery)), NAN
    if case == 1:  # the distances to the other rows are finite
        row = rng.integers(len(gallery))
        gallery[row].reshape(-1)[rng.integers(gallery[row].size)] = np.nan
        distances = model.distance(embedding, gallery)
        is_right = np.isnan(distances[row]) and np.isfinite(np.delete(distances, row)).all()
        return (NAN if is_right else "mixed"), NAN
    arguments = (embedding[:, :-1], gallery) if case == 2 else (embedding, gallery[:, :-1])
    try:
        return judged(model.distance(*arguments)), REFUSED
    except RuntimeError:
        return REFUSED, REFUSED


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


class Blocks:
    """Generator that draws the blocks of a stream, shape `(1, block, channels)`, and a state."""

    def __init__(self, shape, state, least):
        (_, self.block, self.channels), (self.size,) = shape, state
        self.least = -(-least // self.block)  # blocks

    def plain(self, rng, count=None):
        count = self.least + int(rng.integers(4)) if count is None else count
        blocks = rng.normal(size=(count, 1, self.block, self.channels)) / 10
        return {"blocks": [*blocks.astype(np.float32)], "state": np.zeros(self.size, np.float32)}

    def __call__(self, rng):
        kind = str(rng.choice(KINDS))
        inputs, due = self.plain(rng), FINITE
        blocks = inputs["blocks"]
        i = int(rng.integers(len(blocks)))
        block = blocks[i]
        if kind == "length":
            count = int(rng.integers(2 * self.least + 1))
            inputs, due = self.plain(rng, count), FINITE if count >= self.least else NAN
        elif kind == "not finite":
            block.reshape(-1)[rng.integers(block.size)] = rng.choice([np.nan, np.inf, -np.inf])
            due = ANY if i < len(blocks) - 1 else NAN  # an earlier block may have left the window
        elif kind == "batch":
            blocks[i], due = np.repeat(block, rng.choice([0, 2, 3]), axis=0), REFUSED
        elif kind == "channels":
            more = np.concatenate([block, block[:, :, :1]], axis=2)
            blocks[i] = more if self.channels == 1 or rng.integers(2) else block[:, :, 1:]
            due = REFUSED
        elif kind == "few steps":
            blocks[i], due = block[:, : rng.integers(self.block)], REFUSED
        elif kind == "rank":
            if rng.integers(2):
                inputs["state"] = np.zeros(self.size + int(rng.choice([-1, 1])), np.float32)
            else:
                blocks[i] = block[0] if rng.integers(2) else block[None]
            due = REFUSED
        elif kind in EXTREMES:
            changed = [EXTREMES[kind](each) for each in blocks]
            inputs["blocks"], due = [each for each, _ in changed], changed[0][1]
        return kind, inputs, due


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
