"""Fuzzes exported models with inputs that break their contracts, each in a separate process.

    python -m tests.export.device_fuzz build/export/*.tflite build/onnx/* --calls 1000

A model is a .tflite file that `export.tflite` or `export.stream` wrote, or a folder that
`export.onnx` wrote.

The script prints a row for each file with the number of calls, the number of crashes, and the
numbers of expected and actual outcomes. Each outcome is one of three: NaN, finite, or refused.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

from keras_dml import export

WORKER = pathlib.Path(__file__).with_name("fuzz_worker.py")
COLUMNS = (
    ("file", "calls", "crashes", "NaN due", "NaN given", "finite due", "finite given")
    + ("refused due", "refused given", "extreme")
)  # fmt: skip


def fuzz(file, calls, seed=0, limits=(1, None)):
    """Calls a file with random inputs and compares its outputs with the expected outcomes.

    Args:
        file: Path of a .tflite file or of a folder of ONNX files.
        calls: Number of calls.
        seed: Seed of the inputs.
        limits: Smallest and largest number of time steps, for a file without a contract.

    Returns:
        Number of crashes, and a Counter of (kind of input, expected outcome, actual outcome).
    """
    least, most = _limits(file, limits)
    crashes, counts, first = 0, collections.Counter(), 0
    while first < calls:
        numbers = map(str, (first, calls, seed, least, most or 0))
        command = [sys.executable, "-P", str(WORKER), str(file), *numbers]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if line[:1].isdigit()]
        for line in lines:
            _, _, answer = line.partition(" ")
            if answer:
                row = json.loads(answer)
                counts[row["kind"], row["due"], row["given"]] += 1
        if done.returncode > 0 or not lines:
            raise RuntimeError(f"The fuzz of {file} failed: {done.stderr[-2000:]}")
        if done.returncode < 0:
            crashes += 1
            counts["crash", "any", "crash"] += 1
        first = int(lines[-1].split()[0]) + 1
    return crashes, counts


def wrong(counts):
    """Returns the outcomes that differ from the expected outcomes."""
    return {key: count for key, count in counts.items() if key[1] not in ("any", key[2])}


def row(name, crashes, counts):
    """Returns the cells of a row of the table, in the order of `COLUMNS`."""
    cells = [name, counts.total(), crashes]
    for due in ("nan", "finite", "refused"):
        cells.append(sum(count for key, count in counts.items() if key[1] == due))
        cells.append(sum(count for key, count in counts.items() if key[1] == key[2] == due))
    return [*cells, sum(count for key, count in counts.items() if key[1] == "any")]


def main():
    """Runs the script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("|", " | ".join(COLUMNS), "|")
    print("|", " | ".join("---" for _ in COLUMNS), "|")
    failed = False
    for file in options.files:
        crashes, counts = fuzz(file, options.calls, options.seed)
        print("|", " | ".join(map(str, row(file, crashes, counts))), "|", flush=True)
        for key, count in wrong(counts).items():
            print(f"{file}: {count} of {key}", file=sys.stderr, flush=True)
        failed = failed or crashes or wrong(counts)
    return 1 if failed else 0


def _limits(file, limits):
    try:
        contract = export.contract(file)
    except ValueError:  # the file has no contract
        return limits
    return contract.get("min_steps", limits[0]), contract.get("max_steps", limits[1])


if __name__ == "__main__":
    sys.exit(main())
