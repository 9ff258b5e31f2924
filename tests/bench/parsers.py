"""Readers of data sets, on files as large as in the archives: EEG as text compared with a loop over
lines, a table of gaze compared with polars, three days of movement cut into minutes.

python -m tests.bench.parsers

The table includes polars if it is installed.
"""

import functools
import importlib.util
import io
import pathlib
import tempfile
import time

import numpy as np

from tests.bench import memory, smoke, timing
from tests.tfds_builders.gaze import gazebase_file
from tests.tfds_builders.inertial import record_header
from tests.tfds_builders.samples import smni_trial
from tfds_builders.common.archive import open_source
from tfds_builders.common.repeats import Repeats
from tfds_builders.ltmm_gait import ltmm_gait_dataset_builder as ltmm
from tfds_builders.parsers import gazebase, smni

LOOP, POLARS = "a loop over the lines", "polars.read_csv"
ROWS = (
    timing.Row(LOOP),
    timing.Row("parsers.smni", LOOP, 0.2),
    timing.Row(POLARS),
    timing.Row("parsers.gazebase", POLARS, 1.0),
)
SMOKE = {"GAZE_SAMPLES": 1000, "DAYS": 1, "steps": 1, "repeats": 5}
GAZE_SAMPLES = 60_000  # a minute
DAYS, SECONDS, MEGABYTES = 3, 60, 300  # of movement; the greatest time and memory allowed


def by_line(trial):
    """Values of a trial of EEG, unchecked."""
    columns = {name: column for column, name in enumerate(smni.CHANNELS)}
    values = np.empty((smni.SAMPLES, len(columns)), np.float32)
    for line in trial.decode().splitlines():
        if not line.startswith("#"):
            _, channel, sample, value = line.split()
            values[int(sample), columns[channel]] = float(value)
    return values


def candidates(cpu_time, steps):
    """Each reader on its file; polars where it is."""
    trial, gaze = smni_trial(), gazebase_file(samples=GAZE_SAMPLES)
    readers = {
        LOOP: lambda: by_line(trial),
        "parsers.smni": lambda: smni.parse(io.BytesIO(trial), name="trial"),
        "parsers.gazebase": lambda: gazebase.parse(io.BytesIO(gaze), name="gaze"),
    }
    if importlib.util.find_spec("polars"):
        import polars

        readers[POLARS] = lambda: polars.read_csv(io.BytesIO(gaze))
    return {name: timing.timed(read, cpu_time, steps) for name, read in readers.items()}


def record(folder, days):
    """Writes a record of LTMM of noise, and returns its number of samples."""
    samples, rng = days * ltmm.DAY, np.random.default_rng(0)
    (folder / "CO001.hea").write_bytes(record_header(samples=samples))
    with (folder / "CO001.dat").open("wb") as file:
        for _ in range(days):
            shape = ltmm.DAY, len(ltmm.CHANNELS)
            file.write(rng.integers(-20_000, 20_000, shape, np.int16).astype("<i2").tobytes())
    return samples


def windowed(folder, config):
    """Number of minutes that a config has of the record."""
    source = open_source(folder, ltmm.WANTED.limits)
    recording, repeats = ltmm.Recording("CO001", "CO001.hea"), Repeats("LTMM", "recordings", "kept")
    return sum(1 for _ in ltmm.examples_of(recording, repeats, source, config))


def show_windows(days):
    """Prints time and memory of each config of minutes on a record of some days."""
    print(
        f"\nLTMM, {days} days at 100 Hz cut into minutes: at most {SECONDS} s and {MEGABYTES} MB,"
    )
    print("beside the pages of the mapped file, which the system takes back when it needs them")
    for config in ltmm.Builder.BUILDER_CONFIGS:
        if config.lab:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            samples = record(folder, days)
            start = time.perf_counter()
            grown, minutes = memory.growth_megabytes(functools.partial(windowed, folder, config))
            seconds = time.perf_counter() - start
            grown -= (folder / "CO001.dat").stat().st_size / 2**20
        message = timing.verdict(seconds, SECONDS), timing.verdict(grown, MEGABYTES)
        print(
            f"{config.name:<14} {samples:>12,} samples {minutes:>6,} minutes {seconds:>6.1f} s "
            f"{message[0]} {grown:>5.0f} MB {message[1]}"
        )


def main():
    options = timing.parser(__doc__.splitlines()[0], 15)
    timing.add_cpu_time(options, "processor time of all threads, for a busy machine")
    timing.add_steps(options)
    arguments = smoke.parse(options, globals(), SMOKE)
    show_windows(DAYS)
    seconds = timing.alternate(candidates(arguments.cpu_time, arguments.steps), arguments.repeats)
    title = f"A trial of 64 electrodes and 256 samples; {GAZE_SAMPLES:,} samples of gaze"
    timing.show(title, ROWS, seconds)


if __name__ == "__main__":
    main()
