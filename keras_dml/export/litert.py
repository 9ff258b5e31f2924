"""Runs a .tflite file with LiteRT in a separate process on one thread.

If a file aborts or exhausts memory, only the separate process ends. The separate process runs this
module as a script, `litert.py TASK FILE REQUEST.npz ANSWER.npz`. Therefore the module does not
import other modules of the package.
"""

import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Path = str | os.PathLike[str]
RUNS = 21  # number of timed calls. The median of their times is reported.
WARM_UPS = 3


def embed(file: Path, recordings: list[Any]) -> np.ndarray:
    """Computes embeddings of recordings with the signature `embed` of a file.

    If the file has a fixed number of time steps, shorter recordings are padded with NaN.

    Args:
        file: Path of a .tflite file that `keras_dml.export.tflite` wrote.
        recordings: Arrays `(time, channels)`, or other inputs of the model.

    Returns:
        Embeddings, shape `(recordings, ...)`.

    Raises:
        RuntimeError: If the file cannot be run.
    """
    return _run(file, "embed", **_joined(recordings))


def distance(file: Path, embeddings: np.ndarray, gallery: np.ndarray) -> np.ndarray:
    """Computes distances between embeddings and a gallery with the signature `distance` of a file.

    If the file has a fixed number of rows, the gallery is split into parts of this number of rows.
    Copies of a row fill the last part.

    Args:
        file: Path of a .tflite file.
        embeddings: Embeddings, shape `(n, ...)`.
        gallery: Embeddings of the gallery, shape `(m, ...)`.

    Returns:
        Distances, shape `(n, m)`.

    Raises:
        RuntimeError: If the file cannot be run.
    """
    return _run(file, "distance", embeddings=embeddings, others=gallery)


def score(file: Path, embeddings: np.ndarray, prototypes: np.ndarray) -> np.ndarray:
    """Computes similarities between embeddings and prototypes with the signature `score` of a file.

    Args:
        file: Path of a .tflite file of a classifier.
        embeddings: Embeddings, shape `(n, features)`.
        prototypes: Prototypes, shape `(m, features)`.

    Returns:
        Learned similarities, shape `(n, m)`.

    Raises:
        RuntimeError: If the file cannot be run, or has no signature `score`.
    """
    return _run(file, "score", embeddings=embeddings, others=prototypes)


def classify(file: Path, recordings: list[Any]) -> np.ndarray:
    """Computes class scores, shape `(recordings, classes)`, with the signature `classify`.

    Args:
        file: Path of a .tflite file of a classifier.
        recordings: Recordings or other inputs of the model, as in `embed`.

    Raises:
        RuntimeError: If the file cannot be run, or has no signature `classify`.
    """
    return _run(file, "classify", **_joined(recordings))


def covariance(file: Path, recordings: list[Any]) -> np.ndarray:
    """Computes covariance matrices of recordings, shape `(recordings, n, n)`, with the signature
    `covariance`.

    Args:
        file: Path of the .tflite file of a model with a Riemannian potato.
        recordings: Arrays `(time, channels)`.

    Raises:
        RuntimeError: If the file cannot be run, or has no signature `covariance`.
    """
    return _run(file, "covariance", **_joined(recordings))


def stream(file: Path, recordings: list[Any]) -> np.ndarray:
    """Computes embeddings of recordings with the signatures `step` and `read` of a file.

    Args:
        file: Path of a .tflite file that `keras_dml.export.stream` wrote.
        recordings: Arrays `(time, channels)`, whose lengths are multiples of the block of the file.

    Returns:
        Embeddings, shape `(recordings, ...)`.

    Raises:
        RuntimeError: If the file cannot be run.
    """
    return _run(file, "stream", **_joined(recordings))


def step_ms(file: Path, block: np.ndarray) -> float:
    """Measures the median time of one call of `step` in milliseconds.

    Args:
        file: Path of a .tflite file that `keras_dml.export.stream` wrote.
        block: Block of a recording, shape `(block, channels)`.

    Raises:
        RuntimeError: If the file cannot be run.
    """
    return float(_run(file, "step_latency", steps=block))


def latency_ms(file: Path, recording: np.ndarray) -> float:
    """Measures the median time of one call of `embed` in milliseconds.

    Args:
        file: Path of a .tflite file.
        recording: An input of the model.

    Raises:
        RuntimeError: If the file cannot be run.
    """
    return float(_run(file, "latency", steps=np.asarray(recording, np.float32)))


def median_ms(call: Callable[[], object]) -> float:
    """Measures the median time of a call in milliseconds, after several warm-up calls."""
    seconds = []
    for _ in range(WARM_UPS + RUNS):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return float(1000 * np.median(seconds[WARM_UPS:]))


def require() -> None:
    """Raises an error if LiteRT is not installed.

    Raises:
        ImportError: If LiteRT is not installed. The message contains the command that installs
            LiteRT.
    """
    if importlib.util.find_spec("ai_edge_litert") is None:
        raise ImportError(
            "LiteRT, which checks TFLite files, is not installed. Install it: "
            'pip install "keras-dml[edge]".'
        )


def _joined(recordings):
    recordings = [np.asarray(recording, np.float32) for recording in recordings]
    lengths = np.array([len(recording) for recording in recordings], np.int32)
    return {"steps": np.concatenate(recordings), "lengths": lengths}


def _run(file, task, **arrays):
    require()
    with tempfile.TemporaryDirectory() as tmp_dir:
        request, answer = (pathlib.Path(tmp_dir, name) for name in ("request.npz", "answer.npz"))
        np.savez(request, **arrays)
        # -P keeps this folder off the import path, because its modules have common names
        command = [sys.executable, "-P", __file__, task, file, request, answer]
        process = subprocess.run([*map(str, command)], capture_output=True, text=True)
        if process.returncode:
            raise RuntimeError(
                f"LiteRT could not run {task} of {pathlib.Path(file).name}: {_reason(process)}."
            )
        with np.load(answer) as arrays:
            return arrays["result"]


def _reason(process):
    if process.returncode < 0:
        return f"the process was ended by {signal.Signals(-process.returncode).name}"
    lines = process.stderr.strip().splitlines() or ["no message"]
    return lines[-1]


# All functions below run in the separate process.


def _each_recording(signature):
    """Returns a function that computes the output of a signature for each recording."""

    def task(interpreter, request):
        runner = interpreter.get_signature_runner(signature)
        recordings = np.split(request["steps"], np.cumsum(request["lengths"])[:-1])
        outputs = [_output(runner(**_arguments(runner, x))) for x in recordings]
        return np.concatenate([np.atleast_2d(output) for output in outputs])

    return task


def _each_embedding(signature, second):
    """Returns a function that calls a signature once per embedding, always with the same array as
    second argument.

    Args:
        signature: Name of the signature.
        second: Name of the second argument of the signature.
    """

    def task(interpreter, request):
        runner = interpreter.get_signature_runner(signature)
        rows = request["others"]
        count, size = len(rows), _shape(runner, second)[0]
        if size > 0:
            rows = np.concatenate([rows, np.repeat(rows[-1:], -count % size, axis=0)])
        parts = np.split(rows, len(rows) // size) if size > 0 else [rows]
        return np.stack(
            [
                np.concatenate([_output(runner(embedding=z[None], **{second: x})) for x in parts])
                for z in request["embeddings"]
            ]
        )[:, :count]

    return task


def _streams(interpreter, request):
    step, read = (interpreter.get_signature_runner(name) for name in ("step", "read"))
    block, size = _shape(step, "signal")[1], _shape(step, "state")[0]
    embeddings = []
    for recording in np.split(request["steps"], np.cumsum(request["lengths"])[:-1]):
        state = np.zeros(size, np.float32)
        for start in range(0, len(recording), block):
            state = step(signal=recording[None, start : start + block], state=state)["state"]
        embeddings.append(_output(read(state=state)))
    return np.concatenate(embeddings)


def _step_latency(interpreter, request):
    runner = interpreter.get_signature_runner("step")
    state = np.zeros(_shape(runner, "state")[0], np.float32)
    return np.array(median_ms(lambda: runner(signal=request["steps"][None], state=state)))


def _latency(interpreter, request):
    runner = interpreter.get_signature_runner("embed")
    arguments = _arguments(runner, request["steps"])
    return np.array(median_ms(lambda: runner(**arguments)))


def _output(outputs):
    (output,) = outputs.values()
    return output


def _shape(runner, argument):
    """Returns the shape of an argument of a signature, with -1 for each axis of any size."""
    details = runner.get_input_details()[argument]
    return details["shape_signature"] if len(details["shape_signature"]) else details["shape"]


def _arguments(runner, recording):
    """Returns the arguments of a signature for an input, such as a recording and its length."""
    names = runner.get_input_details()
    if "length" in names:
        missing = max(_shape(runner, "signal")[1] - len(recording), 0)
        signal = np.pad(recording, ((0, missing), (0, 0)), constant_values=np.nan)
        return {"signal": signal[None], "length": np.array(len(recording), np.int32)}
    (name,) = names
    return {name: recording[None]}


TASKS: dict[str, Callable[..., Any]] = {
    "classify": _each_recording("classify"),
    "covariance": _each_recording("covariance"),
    "distance": _each_embedding("distance", "gallery"),
    "embed": _each_recording("embed"),
    "latency": _latency,
    "score": _each_embedding("score", "prototypes"),
    "step_latency": _step_latency,
    "stream": _streams,
}


def main(task: str, file: str, request: str, answer: str) -> None:
    """Runs one task and writes its result.

    Args:
        task: Key of `TASKS`.
        file: Path of a .tflite file.
        request: Path of the `.npz` file that holds the arguments.
        answer: Path of the `.npz` file to write.
    """
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=file, num_threads=1)
    with np.load(request) as arrays:
        result = TASKS[task](interpreter, dict(arrays))
    np.savez(answer, result=result)


if __name__ == "__main__":
    main(*sys.argv[1:])
