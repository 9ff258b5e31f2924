"""Runs a .tflite file in a process of its own, started as a script: `_worker.py TASK FILE
REQUEST.npz ANSWER.npz`.

A file that aborts or exhausts memory takes this process with it, not the caller's. Needs NumPy and
ai-edge-litert only, and imports nothing of the package.
"""

import sys
import time

import numpy as np
from ai_edge_litert.interpreter import Interpreter

RUNS = 21  # of which the median counts
WARM_UPS = 3


def one_by_one(signature):
    """The answers of a signature to recordings."""

    def ask(interpreter, request):
        runner = interpreter.get_signature_runner(signature)
        recordings = np.split(request["steps"], np.cumsum(request["lengths"])[:-1])
        rows = [np.atleast_2d(output(runner(**arguments(runner, one)))) for one in recordings]
        return np.concatenate(rows)

    return ask


def against(signature, others):
    """The answers of a signature to each embedding and all of `others`, the name of its second
    argument."""

    def ask(interpreter, request):
        runner = interpreter.get_signature_runner(signature)
        return np.stack(
            [
                output(runner(embedding=one[None], **{others: request["others"]}))
                for one in request["embeddings"]
            ]
        )

    return ask


def output(answer):
    (only,) = answer.values()
    return only


def arguments(runner, recording):
    """What a recording is called with: with its length, or alone."""
    names = runner.get_input_details()
    if "length" in names:
        return {"signal": recording[None], "length": np.array(len(recording), np.int32)}
    (name,) = names
    return {name: recording[None]}


def latency(interpreter, request):
    runner = interpreter.get_signature_runner("embed")
    one = arguments(runner, request["steps"])
    seconds = []
    for _ in range(WARM_UPS + RUNS):
        start = time.perf_counter()
        runner(**one)
        seconds.append(time.perf_counter() - start)
    return np.array(1000 * np.median(seconds[WARM_UPS:]))


TASKS = {
    "classify": one_by_one("classify"),
    "distance": against("distance", "gallery"),
    "embed": one_by_one("embed"),
    "latency": latency,
    "score": against("score", "prototypes"),
}


def main(task, file, request, answer):
    interpreter = Interpreter(model_path=file, num_threads=1)
    with np.load(request) as arrays:
        result = TASKS[task](interpreter, dict(arrays))
    np.savez(answer, result=result)


if __name__ == "__main__":
    main(*sys.argv[1:])
