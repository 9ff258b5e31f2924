"""Functions that make small recordings of phones, watches and sensors for tests.

The files in `dummy_data/` of the builders of inertial data come from these functions.
"""

import numpy as np

from tfds_builders.ltmm_gait.ltmm_gait_dataset_builder import CHANNELS
from tfds_builders.parsers import har, motionsense

WALKERS = {"ID01": "M", "ID02": "F", "ID03": "M", "ID04": "F", "ID05": "M"}
NOON = 1_356_350_400_000  # 2012-12-24, 12:00 UTC, in ms
MINUTE = 60_000
SENSOR = "BMA 150 3-axis Accelerometer"


def walk_file(start_ms=NOON, seed=0, samples=40, gap_ms=0):
    """Returns a walk with one sample every 40 ms and a gap of `gap_ms` before the middle sample.

    Sample n has x = n / 8 + seed, y = 9.75 and z = -n / 4, so each signal is a straight line.
    """
    lines = [
        f"{start_ms + 40 * n + (gap_ms if 2 * n >= samples else 0)},{n / 8 + seed},9.75,{-n / 4}"
        for n in range(samples)
    ]
    return ("\r\n".join(lines) + "\r\n").encode()


def walk_name(subject="ID01", sex="M", session="2100", sequence=0, device="NexusOne"):
    return f"DATASET/{subject}_{sex}_{session}_[{device}]{SENSOR}_{sequence}.txt"


def walk_files(walkers=WALKERS, walks=2):
    """Returns the names and bytes of a small archive of walks that start one minute apart."""
    return {
        walk_name(subject, sex, f"21{walk}0", walk): walk_file(
            NOON + walk * MINUTE, seed=10 * at + walk
        )
        for at, (subject, sex) in enumerate(walkers.items())
        for walk in range(walks)
    }


HAR_ROWS = {  # (person, activity, first sample) of each window, for the two parts
    "train": [(1, 1, 0), (1, 1, 64), (1, 1, 128), (3, 1, 0)],
    "test": [(2, 4, 0), (2, 4, 64), (2, 5, 128)],
}
HAR_FOLDER = "UCI HAR Dataset/"


def har_window(person, activity, start=0):
    """Returns a window of shape `(128, 9)`. The windows of one person and activity are cut from one
    signal.
    """
    time, channel = np.arange(start, start + har.SAMPLES)[:, None], np.arange(9)
    return (time * time + 7 * time * channel + 11 * person + 3 * activity) % 29 / 10


def har_files(rows=HAR_ROWS, folder=HAR_FOLDER):
    """Returns the names and bytes of the files of a small UCI HAR archive."""
    names = [f"{number} {name}" for number, name in enumerate(har.ACTIVITIES, 1)]
    files = {f"{folder}activity_labels.txt": _text(names)}
    for part, windows in rows.items():
        columns = {"subject": 0, "y": 1}
        for stem, place in columns.items():
            files[f"{folder}{part}/{stem}_{part}.txt"] = _text(row[place] for row in windows)
        for at, channel in enumerate(har.CHANNELS):
            signal = [" ".join(f"{v:g}" for v in har_window(*row)[:, at]) for row in windows]
            files[f"{folder}{part}/Inertial Signals/{channel}_{part}.txt"] = _text(signal)
    return files


def _text(lines):
    return "".join(f"{line}\n" for line in lines).encode()


TRIAL_FOLDERS = ("dws_1", "ups_3", "wlk_7", "jog_9")


def trial_file(seed=0, samples=6):
    """Returns a MotionSense trial whose column c of sample n is n / 4 + c + seed."""
    lines = [",".join(("", *motionsense.CHANNELS))]
    for n in range(samples):
        lines.append(",".join([f"{n}", *(f"{n / 4 + c + seed}" for c in range(12))]))
    return _text(lines)


def trial_name(person=1, trial="wlk_7"):
    return f"A_DeviceMotion_data/{trial}/sub_{person}.csv"


def trial_files(people=range(1, 5), trials=TRIAL_FOLDERS):
    """Returns the names and bytes of the trials of a small MotionSense archive."""
    return {
        trial_name(person, trial): trial_file(100 * person + 10 * at)
        for person in people
        for at, trial in enumerate(trials)
    }


def people_file(people=range(1, 5)):
    """Returns the table of the people. As in the original file, the last line has no line end."""
    lines = ["code,weight,height,age,gender"]
    lines += [f"{code},{60 + code},{160 + code},{20 + code},{code % 2}" for code in people]
    return "\n".join(lines).encode()


ELDERS = ("CO001", "CO002", "CO030", "FL001", "FL027")
GAINS = {"g": "16384.0(-50)/g", "deg/s": "60(0)/deg/s"}


def record_header(record="CO001", samples=6000, notes=("#Age:75.0", "#Sex:F"), signals=CHANNELS):
    """Returns the header of an LTMM record, with the line ends that PhysioNet's programs write."""
    lines = [f"{record} {len(signals)} 100 {samples}"]
    for name, unit in signals.items():
        lines.append(f"{record}.dat 16 {GAINS[unit]} 16 0 0 0 0 {name}")
    return "".join(f"{line}\r\n" for line in (*lines, *notes)).encode()


def movement(levels, seed=0, length=6000):
    """Returns digital samples (T, 6) with `length` samples of a wave for each level.

    The level is the height of the wave. The phase of the wave differs between channels.
    """
    time, channel = np.arange(length * len(levels))[:, None], np.arange(6)
    height = np.repeat(levels, length)[:, None]
    return (height * ((time + channel) % 8 - 3) + seed).astype("<i2")


def record_files(record="CO001", levels=(30, 10), seed=0, length=6000, folder="ltmm/"):
    """Returns the names and bytes of the two files of an LTMM record."""
    digital = movement(levels, seed, length)
    return {
        f"{folder}{record}.hea": record_header(record, len(digital)),
        f"{folder}{record}.dat": digital.tobytes(),
    }


def ltmm_files(people=ELDERS, levels=(30, 10), lab=True, folder="ltmm/"):
    """Returns the names and bytes of a small LTMM archive.

    With `lab`, the archive also has two seconds of each person's walk in the laboratory.
    """
    files = {}
    for at, person in enumerate(people):
        files |= record_files(person, levels, seed=at, folder=folder)
        if lab:
            name = f"{person.lower()}_base"
            files |= record_files(name, (20,), at, length=200, folder=f"{folder}LabWalks/")
    return files


RUNNERS = ("s01", "s02", "s03", "s04", "s05")
RUN_HEADER = "x_acc,y_acc,z_acc,x_gyro,y_gyro,z_gyro,timestamp,label"


def run_file(start_ms=NOON, seed=0, samples=40, gap_ms=0):
    """Returns a run with one sample every 10 ms and a gap of `gap_ms` before the middle sample.

    Every fourth sample has the time of the sample before it. The person walks in the first half
    and turns in the second half. Sample n has x = n / 8 + seed, y = 9.75, z = -n / 4, and the
    rates of rotation n / 16, 0 and 1.
    """
    lines = [RUN_HEADER]
    for n in range(samples):
        later = 2 * n >= samples
        time = start_ms + 10 * (n - (n % 4 == 3)) + gap_ms * later
        values = f"{n / 8 + seed},9.75,{-n / 4},{n / 16},0.0,1.0"
        lines.append(f"{values},{time},{'TURNING' if later else 'WALKING'}")
    return _text(lines)


def run_name(subject="s01", run=1, device="sw"):
    return f"DATA/{subject}/{subject}_{run:02d}_{device}.csv"


def run_tables(runners=RUNNERS, runs=2):
    """Returns the table of the people and the table of the runs."""
    people = ["subject_id,age,gender,height,weight,dominant_hand,executions"]
    people += [
        f"{runner},{20 + at},{'FM'[at % 2]},{160 + at},{60 + at},{'RL'[at % 2]},{runs}"
        for at, runner in enumerate(runners)
    ]
    conditions = ["execution_id,orientation,first_turn,second_turn"]
    conditions += [
        f"{runner}_{run:02d},back_inv,l,r" for runner in runners for run in range(1, runs + 1)
    ]
    return {
        "DATA/subjects_info.csv": _text(people),
        "DATA/executions_info.csv": _text(conditions),
    }


def run_files(runners=RUNNERS, runs=2):
    """Returns the names and bytes of a small archive of runs that start one minute apart.

    A watch and a phone record each run.
    """
    files = run_tables(runners, runs)
    for at, runner in enumerate(runners):
        for run in range(1, runs + 1):
            for device, lag in (("sw", 0), ("sp", 3)):
                start = NOON + run * MINUTE + lag
                seed = 100 * at + 10 * run + lag
                files[run_name(runner, run, device)] = run_file(start, seed=seed)
    return files
