"""Compares the outputs of `model.tflite` on this machine with the outputs in `golden.npz`.

Needs only NumPy and ai-edge-litert: `pip install numpy ai-edge-litert`, then `python check.py`.
The exit status is 0 if all outputs agree.
"""

import json
import pathlib
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

HERE = pathlib.Path(__file__).resolve().parent


def main() -> bool:
    """Prints the largest difference of each output. Returns True if all outputs agree."""
    tolerance = json.loads((HERE / "bundle.json").read_text(encoding="utf-8"))["tolerance"]
    with np.load(HERE / "golden.npz", allow_pickle=False) as file:
        golden = dict(file)
    model = Interpreter(model_path=str(HERE / "model.tflite"), num_threads=1)
    embed, distance = (model.get_signature_runner(name) for name in ("embed", "distance"))
    outputs = {
        **embed(signal=golden["signal"], length=golden["length"]),
        **distance(embedding=golden["embedding"], gallery=golden["gallery"]),
    }
    agrees = True
    for name, values in outputs.items():
        scale = np.abs(golden[name]).max() or 1.0
        difference = np.abs(values - golden[name]).max() / scale
        agrees &= bool(difference <= tolerance)  # NaN does not agree
        print(f"{name}: differs by {difference:.2g} of the largest value, allowed {tolerance:.2g}")
    print("passed" if agrees else "failed")
    return agrees


if __name__ == "__main__":
    sys.exit(not main())
