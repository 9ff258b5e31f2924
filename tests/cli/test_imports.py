"""Tests that commands which decide with a .tflite file import nothing heavy."""

import json
import subprocess
import sys

import numpy as np

from keras_dml import zoo
from keras_dml.zoo import lookup, reading

MODEL = "gait_lda"
HEAVY = (
    *("scipy", "keras", "tensorflow", "jax", "matplotlib", "sklearn", "asyncio"),
    "ai_edge_litert.schema_py_generated",
)
CODE = """
import contextlib, io, json, sys
from keras_dml import cli
results = {}
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try: cli.main(words)
        except SystemExit as stop: status = stop.code or 0
        else: status = 0
    results[" ".join(words)] = [status, [m for m in json.loads(sys.argv[2]) if m in sys.modules]]
print(json.dumps(results))
"""


def test_decisions_import_neither_scipy_nor_the_schema_of_tflite(tmp_path):
    card = zoo.card(MODEL)
    golden, _ = reading.read_golden(lookup.find(MODEL) / card["golden"]["input"])
    header, rate_hz = ",".join(["time_s", *card["input"]["channels"]]), card["input"]["rate_hz"]
    for name, ratio in (("a", 1), ("b", 1), ("fast", 2)):
        signal = golden[1 if name == "b" else 0]
        times = np.arange(0, len(signal) - 1, 1 / ratio)
        columns = [np.interp(times, np.arange(len(signal)), channel) for channel in signal.T]
        rows = np.c_[times / rate_hz, np.transpose(columns)]
        np.savetxt(tmp_path / f"{name}.csv", rows, delimiter=",", header=header, comments="")
    gallery, a, b, fast = (str(tmp_path / name) for name in ("f.db", "a.csv", "b.csv", "fast.csv"))
    commands = [
        ["enroll", gallery, "alice", a, "--model", MODEL],
        ["verify", gallery, "alice", a],
        ["verify", gallery, "alice", fast, "--resample"],
        ["identify", gallery, a],
        ["explain", gallery, "alice", a],
        ["compare", a, b, "--model", MODEL],
        ["people", gallery],
    ]
    arguments = [json.dumps(commands), json.dumps(HEAVY)]
    done = subprocess.run([sys.executable, "-c", CODE, *arguments], capture_output=True, text=True)
    results = json.loads(done.stdout)
    assert len(results) == len(commands), done.stderr
    assert all(status in (0, 1) and not heavy for status, heavy in results.values()), results


def test_the_process_that_reads_files_imports_no_event_loop():
    code = (
        "import sys, keras_dml.gallery.server.worker, keras_dml.recordings as r; r.read_pieces;"
        "print({'asyncio', 'fastapi', 'scipy'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
