"""Measures parsers of data sets on files of the same sizes as in the archives.

The script compares the parser of EEG texts with a loop over the lines, and the parser of a gaze
table with polars. The script also measures the speed of each text parser, and the time and memory
to cut three days of movement data into minutes.

python -m tests.bench.parsers

If polars is installed, the table has a row for polars.
"""

import functools
import importlib.util
import io
import pathlib
import tempfile
import time

import numpy as np

from tests.bench import memory, smoke, timing
from tests.tfds_builders.gaze import coord_file, event_file, gazebase_file
from tests.tfds_builders.inertial import har_files, record_header, run_file, trial_file, walk_file
from tests.tfds_builders.keystrokes import participant_file
from tests.tfds_builders.samples import gait_csv, smni_trial
from tfds_builders.common.archive import open_source
from tfds_builders.common.repeats import Repeats
from tfds_builders.ltmm_gait import ltmm_gait_dataset_builder as ltmm
from tfds_builders.parsers import (
    coord,
    event_text,
    gait,
    gaitauth,
    gazebase,
    har,
    keystrokes,
    motionsense,
    smni,
    sp_sw_har,
)

LOOP, POLARS = "a loop over the lines", "polars.read_csv"
ROWS = (
    timing.Row(LOOP),
    timing.Row("parsers.smni", LOOP, 0.2),
    timing.Row(POLARS),
    timing.Row("parsers.gazebase", POLARS, 1.0),
)
SMOKE = {"GAZE_SAMPLES": 1000, "TEXT_SAMPLES": 1000, "DAYS": 1, "steps": 1, "repeats": 5}
GAZE_SAMPLES = 60_000  # one minute
TEXT_SAMPLES, LEAST_RATE = 20_000, 50.0  # samples per text file, and smallest MB per second
DAYS, SECONDS, MEGABYTES = 3, 60, 300  # days of movement data, largest time and largest memory


def by_line(trial):
    """Parses a trial of EEG without checks, and returns its values."""
    columns = {name: column for column, name in enumerate(smni.CHANNELS)}
    values = np.empty((smni.SAMPLES, len(columns)), np.float32)
    for line in trial.decode().splitlines():
        if not line.startswith("#"):
            _, channel, sample, value = line.split()
            values[int(sample), columns[channel]] = float(value)
    return values


def candidates(cpu_time, steps):
    """Measures the time that each reader needs for its file. If polars is installed, it is measured
    too.
    """
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


def show_rates(samples, repeats):
    """Prints the speed of each text parser on a file, in MB per second of processor time."""
    (windows, *_) = (text for name, text in har_files().items() if "total_acc_x_train" in name)
    files = {
        coord: coord_file(samples=samples),
        event_text: event_file(frames=samples),
        gait: gait_csv(rows=samples),
        gaitauth: walk_file(samples=samples),
        har: windows * (samples // 128 + 1),
        keystrokes: participant_file(sentences=range(samples // 50), words=9),
        motionsense: trial_file(samples=samples),
        sp_sw_har: run_file(samples=samples),
    }
    print(f"\nText of {samples:,} samples: at least {LEAST_RATE:g} MB per second of processor time")
    for parser, content in files.items():
        seconds = []
        for _ in range(repeats):
            start = time.process_time()
            parser.parse(io.BytesIO(content), name="file")
            seconds.append(time.process_time() - start)
        rate = len(content) / 1e6 / max(float(np.median(seconds)), 1e-9)
        verdict = timing.verdict(LEAST_RATE, rate)
        print(f"{parser.__name__.rpartition('.')[2]:<14} {rate:>6.0f} MB/s {verdict}")


def record(folder, days):
    """Writes noise in the format of a record of LTMM, and returns the number of samples."""
    samples, rng = days * ltmm.DAY, np.random.default_rng(0)
    (folder / "CO001.hea").write_bytes(record_header(samples=samples))
    with (folder / "CO001.dat").open("wb") as file:
        for _ in range(days):
            shape = ltmm.DAY, len(ltmm.CHANNELS)
            file.write(rng.integers(-20_000, 20_000, shape, np.int16).astype("<i2").tobytes())
    return samples


def windowed(folder, config):
    """Cuts a record into minutes as a configuration of the data set does, and returns the number of
    minutes.
    """
    source = open_source(folder, ltmm.WANTED.limits)
    recording, repeats = ltmm.Recording("CO001", "CO001.hea"), Repeats("LTMM", "recordings", "kept")
    return sum(1 for _ in ltmm.examples_of(recording, repeats, source, config))


def show_windows(days):
    """Prints the time and memory that each data set configuration needs to cut a record."""
    print(
        f"\nLTMM, {days} days at 100 Hz cut into minutes: at most {SECONDS} s and {MEGABYTES} MB,"
    )
    print("without the pages of the mapped file, which the system frees when it needs memory")
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
        verdicts = timing.verdict(seconds, SECONDS), timing.verdict(grown, MEGABYTES)
        print(
            f"{config.name:<14} {samples:>12,} samples {minutes:>6,} minutes {seconds:>6.1f} s "
            f"{verdicts[0]} {grown:>5.0f} MB {verdicts[1]}"
        )


def main():
    options = timing.parser(__doc__.splitlines()[0], 15)
    timing.add_cpu_time(options, "processor time of all threads, for a busy machine")
    timing.add_steps(options)
    arguments = smoke.parse(options, globals(), SMOKE)
    show_windows(DAYS)
    show_rates(TEXT_SAMPLES, arguments.repeats)
    seconds = timing.alternate(candidates(arguments.cpu_time, arguments.steps), arguments.repeats)
    title = f"A trial of 64 electrodes and 256 samples; {GAZE_SAMPLES:,} samples of gaze"
    timing.show(title, ROWS, seconds)


if __name__ == "__main__":
    main()
