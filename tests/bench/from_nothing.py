"""Runs and times all commands of a new user, from a folder of recordings to decisions.

python -m tests.bench.from_nothing walks --out build/from_nothing

The script writes recordings in common formats: walks with a phone in the pocket as csv, telephone
voices as wav, and EEG as npy. The script trains a model on most of the people. Then the script
enrolls and identifies people who are not in the training data. `KERAS_DML_DATA` is the folder of
the recordings. The script overwrites the folder `--out`.
"""

import contextlib
import dataclasses
import enum
import io
import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Annotated

import numpy as np
import typer
from scipy.io import wavfile

from keras_dml import cli
from tests.bench import smoke as smoke_run
from zoo import eeg, people

ERROR = 2  # exit status
STRANGERS = 2  # people who are neither in the training data nor enrolled, but are identified


def walks(folder):
    """Writes walks and their times in chronological order."""
    for records in people.read("gaitauth_walks/walks").values():
        for record in records:
            seconds = (record["time_ms"] - record["time_ms"][0]) / 1000
            table = np.column_stack([seconds, record["sequence"]])
            path = folder / record["subject"].decode() / f"{record['walk']:02d}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            header = "time_s,x (m/s2),y (m/s2),z (m/s2)"
            np.savetxt(path, table, "%.7g", ",", header=header, comments="")


def voices(folder):
    """Writes unchanged recordings of telephone calls."""
    for records in people.read("hyke_voice/telephone8k").values():
        for record in records:
            if not record["same_as"]:
                path = folder / record["subject"].decode() / f"{record['line']:02d}.wav"
                path.parent.mkdir(parents=True, exist_ok=True)
                wavfile.write(path, 8000, np.asarray(record["audio"]))


def trials(folder):
    """Writes the EEG of each trial as an array of time steps and electrodes."""
    everybody = eeg.trials()
    for signal, subject, trial in zip(*dataclasses.astuple(everybody), strict=True):
        path = folder / subject / f"{trial:03d}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, signal)


def noise(folder, persons=10, each=4, steps=200):
    """Writes noise that replaces recordings in a smoke run. Each person has other axes."""
    rng = np.random.default_rng(0)
    for person in range(persons):
        mixing = np.eye(3) + 0.5 * rng.normal(size=(3, 3))
        person_folder = folder / f"person{person}"
        person_folder.mkdir(parents=True)
        for i in range(each):
            np.save(
                person_folder / f"{i}.npy", (rng.normal(size=(steps, 3)) @ mixing).astype("float32")
            )


@dataclasses.dataclass(frozen=True)
class Set:
    """Recordings of a new user.

    Attributes:
        write: Function that writes the recordings, with one folder for each person.
        unseen: Number of people who are not used in training.
        train: Options of `keras-dml train` that the recordings need.
        add: Options of the gallery commands that the recordings need.
        far: False accept rate of the threshold.
        recipe: Model of the zoo from the same archive.
    """

    write: Callable
    unseen: int
    train: str
    add: str
    far: str
    recipe: str


class Name(enum.StrEnum):
    """Name of a `Set`."""

    walks = "walks"
    voices = "voices"
    eeg = "eeg"


SETS = {
    Name.walks: Set(walks, 6, "--resample-hz 25", "--resample", "0.05", "phone_gait_qp_wl"),
    Name.voices: Set(voices, 13, "--resample-hz 16000", "--resample", "0.05", "voice_ge2e_sim"),
    Name.eeg: Set(
        trials, 3, "--kind covariances --rate-hz 256", "--rate-hz 256", "0.1", "eeg_spdnet_rpl"
    ),
}


SMOKE = Set(noise, 4, "--rate-hz 50 --channels x,y,z --steps 0", "--rate-hz 50", "0.5", "gait_lda")


def in_a_process(folder, words):
    """Runs a command in a folder as a separate process, and returns its status and output."""
    command = [sys.executable, "-m", "keras_dml.cli", *words]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout


def in_this_process(folder, words):
    """Runs a command in this process. Smoke runs use this function, because processes take seconds
    to start.
    """
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        try:
            cli.main(words)
        except SystemExit as ended:
            return ended.code or 0, printed.getvalue()
    return 0, printed.getvalue()


RUN = in_a_process


def keras_dml(folder, line, statuses=(0,)):
    """Runs a command in a folder and prints its time.

    Args:
        line: Command line without `keras-dml`.
        statuses: Exit statuses that do not end the script.

    Returns:
        Output of the command, or None if it ends with an error.
    """
    start = time.monotonic()
    status, printed = RUN(folder, [*shlex.split(line), "--json"])
    print(f"{time.monotonic() - start:7.1f} s  keras-dml {line}", flush=True)
    if status not in statuses:
        raise typer.Exit(1)
    return json.loads(printed) if status < ERROR else None


def divided(folder, unseen):
    """Moves away the folders of the people who must not be used in training.

    Returns:
        Names of the people who were moved away. These people are evenly spaced among all people.
    """
    names = sorted(path.name for path in (folder / "own").iterdir())
    excluded = [names[i] for i in np.linspace(0, len(names) - 1, unseen).round().astype(int)]
    for name in excluded:
        files = sorted((folder / "own" / name).iterdir())
        for part, part_names in (
            ("known", files[: len(files) // 2]),
            ("new", files[len(files) // 2 :]),
        ):
            (folder / part / name).mkdir(parents=True)
            for file in part_names:
                file.rename(folder / part / name / file.name)
        (folder / "own" / name).rmdir()
    return excluded


def asked(folder, line, files):
    """Returns the output for the first valid recording. Some recordings of phones are invalid,
    because they have gaps.
    """
    for file in files:
        result = keras_dml(folder, line.format(file=file.relative_to(folder)), (0, 1, ERROR))
        if result is not None:
            return result
    raise typer.Exit(1)


def decisions(folder, chosen, people):
    """Enrolls people, and then identifies and verifies a recording of each person.

    Returns:
        Number of people who were verified, number of people who were identified, and number of
        strangers who were rejected.
    """
    add, strangers = chosen.add, people[-STRANGERS:]
    for item in people[:-STRANGERS]:
        keras_dml(folder, f"enroll family.db {item} known/{item} --model model {add}", (0, 1))
    keras_dml(folder, f"calibrate family.db known --far {chosen.far} --extrapolate {add}")
    verified = identified = rejected = 0
    for item in people:
        files = sorted((folder / "new" / item).iterdir())
        person = asked(folder, f"identify family.db {{file}} {add}", files)["person"]
        if item in strangers:
            rejected += person is None
        else:
            identified += person == item
            verified += asked(folder, f"verify family.db {item} {{file}} {add}", files)["accepted"]
    return verified, identified, rejected


def main(
    name: Annotated[Name, typer.Argument(help="What was recorded.")] = Name.walks,
    out: Annotated[
        pathlib.Path, typer.Option(help="Folder of it all; that of the name is emptied first.")
    ] = pathlib.Path("build/from_nothing"),
    minutes: Annotated[float, typer.Option(help="For the training.")] = 10,
    smoke: Annotated[bool, typer.Option("--smoke", help=smoke_run.HELP)] = False,
):
    """Prints each command with its time and its result."""
    if not smoke:
        shutil.rmtree(out / name, ignore_errors=True)
        tried(SETS[name], out / name, minutes)
        return
    globals()["RUN"] = in_this_process
    with tempfile.TemporaryDirectory() as folder:
        tried(SMOKE, pathlib.Path(folder), 1)


def tried(chosen, folder, minutes):
    """Writes recordings, trains, enrolls, identifies and verifies people, and prints results."""
    chosen.write(folder / "own")
    excluded = divided(folder, chosen.unseen)
    keras_dml(folder, f"train own {chosen.train} --out model --minutes {minutes:g}")
    verified, identified, rejected = decisions(folder, chosen, excluded)
    enrolled = len(excluded) - STRANGERS
    print(
        f"a recording each: {verified} of {enrolled} verified, {identified} identified, "
        f"{rejected} of {STRANGERS} strangers rejected"
    )
    for model in ("model", chosen.recipe):
        headline = keras_dml(folder, f"card {model}")["headline"]
        eer = next(row for row in headline["rows"] if row["metric"] == "eer")
        low, high = (100 * end for end in eer["ci95"])
        print(
            f"{model}: EER {100 * eer['value']:.1f} % [{low:.1f} to {high:.1f}], "
            f"{headline['people']} people"
        )


if __name__ == "__main__":
    typer.run(main)
