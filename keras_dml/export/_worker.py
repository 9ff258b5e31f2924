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


def embed(interpreter, request):
    runner = interpreter.get_signature_runner("embed")
    recordings = np.split(request["steps"], np.cumsum(request["lengths"])[:-1])
    return np.concatenate([runner(**arguments(runner, one))["embedding"] for one in recordings])


def arguments(runner, recording):
    """What `embed` is called with: a matrix, or a recording and its length."""
    if "matrix" in runner.get_input_details():
        return {"matrix": recording[None]}
    return {"signal": recording[None], "length": np.array(len(recording), np.int32)}


def distance(interpreter, request):
    runner = interpreter.get_signature_runner("distance")
    gallery = request["gallery"]
    rows = [
        runner(embedding=one[None], gallery=gallery)["distance"] for one in request["embeddings"]
    ]
    return np.stack(rows)


def latency(interpreter, request):
    runner = interpreter.get_signature_runner("embed")
    one = arguments(runner, request["steps"])
    seconds = []
    for _ in range(WARM_UPS + RUNS):
        start = time.perf_counter()
        runner(**one)
        seconds.append(time.perf_counter() - start)
    return np.array(1000 * np.median(seconds[WARM_UPS:]))


TASKS = {"embed": embed, "distance": distance, "latency": latency}


def main(task, file, request, answer):
    interpreter = Interpreter(model_path=file, num_threads=1)
    with np.load(request) as arrays:
        result = TASKS[task](interpreter, dict(arrays))
    np.savez(answer, result=result)


if __name__ == "__main__":
    main(*sys.argv[1:])
