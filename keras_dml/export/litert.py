"""Outputs of a .tflite file, computed by LiteRT in a process of its own, on one thread."""

import importlib.util
import pathlib
import signal
import subprocess
import sys
import tempfile

import numpy as np

WORKER = pathlib.Path(__file__).with_name("_worker.py")


def embed(file, recordings):
    """Embeddings of recordings, by the file's signature `embed`.

    Args:
        file: A .tflite file that `keras_dml.export.tflite` wrote.
        recordings: Arrays `(time, channels)`, or what else the model takes.

    Returns:
        Array, shape `(recordings, ...)`.

    Raises:
        RuntimeError: If the file cannot be run.
    """
    return _ask(file, "embed", **_joined(recordings))


def distance(file, embeddings, gallery):
    """Distances of embeddings to a gallery, `(n, ...)` and `(m, ...)` to `(n, m)`, by the signature
    `distance`.

    Raises:
        RuntimeError: If the file cannot be run.
    """
    return _ask(file, "distance", embeddings=embeddings, others=gallery)


def score(file, embeddings, prototypes):
    """Learned similarities of embeddings to prototypes, `(n, features)` and `(m, features)` to `(n,
    m)`, by the signature `score`.

    Raises:
        RuntimeError: If the file cannot be run, or is not that of a classifier.
    """
    return _ask(file, "score", embeddings=embeddings, others=prototypes)


def classify(file, recordings):
    """Scores of the classes, shape `(recordings, classes)`, by the signature `classify`.

    Raises:
        RuntimeError: If the file cannot be run, or is not that of a classifier.
    """
    return _ask(file, "classify", **_joined(recordings))


def latency_ms(file, recording):
    """Median milliseconds of one `embed` of a recording.

    Raises:
        RuntimeError: If the file cannot be run.
    """
    return float(_ask(file, "latency", steps=np.asarray(recording, np.float32)))


def require():
    """Refuses to begin without LiteRT.

    Raises:
        ImportError: If it is not installed; the message names the extra.
    """
    if importlib.util.find_spec("ai_edge_litert") is None:
        raise ImportError(
            "TFLite files are checked with LiteRT, which is not installed: "
            'pip install "keras-dml[edge]".'
        )


def _joined(recordings):
    recordings = [np.asarray(recording, np.float32) for recording in recordings]
    lengths = np.array([len(recording) for recording in recordings], np.int32)
    return {"steps": np.concatenate(recordings), "lengths": lengths}


def _ask(file, task, **arrays):
    require()
    with tempfile.TemporaryDirectory() as tmp_dir:
        request, answer = (pathlib.Path(tmp_dir, name) for name in ("request.npz", "answer.npz"))
        np.savez(request, **arrays)
        command = [sys.executable, "-P", WORKER, task, file, request, answer]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(
                f"LiteRT failed at `{task}` of {pathlib.Path(file).name}: {_reason(done)}."
            )
        with np.load(answer) as arrays:
            return arrays["result"]


def _reason(done):
    if done.returncode < 0:
        return f"the process was ended by {signal.Signals(-done.returncode).name}"
    lines = done.stderr.strip().splitlines() or ["no message"]
    return lines[-1]
