"""Measures processor time and memory of commands with `--engine edge` and with `--engine keras`.

python -m tests.bench.commands
python -m tests.bench.commands --model vowels_qp_wl

The recordings are the golden recordings of the model with noise, in csv files at the rate of the
model, because times do not depend on who made a recording. The recordings for `--resample` have
another rate. The engines take turns.

The figures are those of an installed package, whose modules are compiled: the benchmark stores the
compiled modules in a temporary folder, and runs all commands once before it measures.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from keras_dml import zoo
from keras_dml.zoo import lookup, reading
from tests.bench import smoke

PEOPLE, FILES = 24, 4
RATIO = 1.28  # rate of the recordings for `--resample`, divided by the rate of the model
WARM_UP = 1  # number of rounds before the measurement, in which Python compiles the modules
JITTER = 0.2  # largest deviation of an uneven time, in time steps
SMOKE = {"PEOPLE": 24, "FILES": 3, "WARM_UP": 0, "rounds": 1, "model": "gait_lda"}
# Runs the command line and prints processor time and memory of this process.
MEASURED = """
import resource, sys
from keras_dml.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    status = end.code
else:
    status = 0
used = resource.getrusage(resource.RUSAGE_SELF)
with open("/proc/self/status") as lines:  # ru_maxrss includes the memory of the parent process
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
print(used.ru_utime + used.ru_stime, peak / 1000, status, file=sys.stderr)
"""
ENGINES = ("edge", "keras")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--model", default="gait_qp_wl")
    options.add_argument("--rounds", type=int, default=3)
    arguments = smoke.parse(options, globals(), SMOKE)
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {arguments.model}")
    print("| command | s, edge | s, keras | MB, edge | MB, keras |")
    print("| --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        length = write_recordings(root, arguments.model)
        measured = {}
        for round_ in range(WARM_UP + arguments.rounds):
            for engine in ENGINES:
                for name, words in commands(root, arguments.model, engine, round_, length):
                    figures = run(words, root / "compiled")
                    if round_ >= WARM_UP:
                        measured.setdefault((name, engine), []).append(figures)
    for name in dict.fromkeys(name for name, _ in measured):
        cells = [np.min(measured[name, engine], axis=0) for engine in ENGINES]
        seconds, memory = np.transpose(cells)
        print(
            f"| {name} | {seconds[0]:.2f} | {seconds[1]:.2f} | {memory[0]:.0f} | {memory[1]:.0f} |"
        )


def write_recordings(root, model):
    """Writes `root/people/PERSON/NUMBER.csv`, and `root/even.csv` and `root/uneven.csv` at another
    rate. Returns the length of the shortest recording in seconds."""
    card, rng = zoo.card(model), np.random.default_rng(0)
    golden, _ = reading.read_golden(lookup.find(model) / card["golden"]["input"])
    rate_hz = card["input"]["rate_hz"]
    header = ",".join(["time_s", *card["input"]["channels"]])
    for person in range(PEOPLE):
        folder = root / "people" / f"p{person:02}"
        folder.mkdir(parents=True)
        base = golden[person % len(golden)] * (1 + person / 20)
        for number in range(FILES):
            signal = base + rng.normal(0, 0.02 * base.std(axis=0), base.shape)
            times = np.arange(len(signal)) / rate_hz
            write_table(folder / f"{number}.csv", header, np.c_[times, signal])
    # two more steps, so that the resampled recordings are not too short for the model
    even = np.arange(0, times[-1] + 2 / rate_hz, 1 / (RATIO * rate_hz))
    uneven = even + rng.uniform(-JITTER, JITTER, len(even)) / (RATIO * rate_hz)
    for name, new_times in (("even", even), ("uneven", uneven)):
        columns = [np.interp(new_times, times, channel) for channel in signal.T]
        write_table(root / f"{name}.csv", header, np.c_[new_times, np.transpose(columns)])
    return min(map(len, golden)) / rate_hz


def write_table(path, header, rows):
    np.savetxt(path, rows, "%.9g", ",", header=header, comments="")


def commands(root, model, engine, round_, length):
    """Yields `(name, words)` for each command, in an order in which the commands succeed."""
    gallery, people = root / f"{engine}{round_}.db", root / "people"
    first, second = people / "p00", people / "p01"
    chosen = ("--engine", engine)
    enroll = ("enroll", gallery, "p00", first / "0.csv", first / "1.csv", "--model", model)
    yield "enroll", (*enroll, *chosen)
    yield "enroll, 24 people", ("enroll", gallery, people, *chosen)
    yield "verify", ("verify", gallery, "p00", first / "2.csv", *chosen)
    for times in ("even", "uneven"):
        resampled = (root / f"{times}.csv", "--resample")
        yield f"verify --resample, {times} times", ("verify", gallery, "p00", *resampled, *chosen)
    yield "identify", ("identify", gallery, second / "2.csv", *chosen)
    yield "explain", ("explain", gallery, "p00", second / "2.csv", *chosen)
    yield "compare", ("compare", first / "0.csv", second / "0.csv", "--model", model, *chosen)
    yield "calibrate", ("calibrate", gallery, people, "--far", 0.2, *chosen)
    window = ("--window", length, "--far", 0.2)
    yield "calibrate --window", ("calibrate", gallery, people, *window, *chosen)
    yield "listen", ("listen", gallery, "p00", first / "2.csv", *chosen)
    yield "people", ("people", gallery)


def run(words, compiled):
    """Returns the processor time in seconds and the largest memory in MB of a command. Python
    stores compiled modules in the folder `compiled`."""
    command = [sys.executable, "-c", MEASURED, *map(str, words)]
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(compiled)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.run(command, capture_output=True, text=True, env=environment)
    *_, last = process.stderr.strip().splitlines()
    seconds, memory, status = last.split()
    if process.returncode or int(status) > 1:
        raise RuntimeError(f"{words} failed:\n{process.stdout}{process.stderr}")
    return float(seconds), float(memory)


if __name__ == "__main__":
    main()
