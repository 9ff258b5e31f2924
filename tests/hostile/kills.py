"""Attempts to kill processes while they write files.

After the kill, the file must be complete, with the old or the new content. The next process must
remove temporary files.
"""

import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import time

import tfds_builders
from keras_dml import _files
from keras_dml.training import write_json
from tests.hostile import draws
from tests.hostile.checks import Verdict, Wrong, tree
from tests.tfds_builders import samples
from tfds_builders import reading

ROOT = pathlib.Path(__file__).parents[2]
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
LENGTH = 300_000
MEMBERS = ("saved_model.pb", "fingerprint.pb", "variables/variables.index")
VOWELS = {
    f"JapaneseVowels_{split}.ts": samples.vowel_ts(seed=n)
    for n, split in ((0, "TRAIN"), (1000, "TEST"))
}
WRITES = """
import pathlib, sys
from tests.hostile import kills
write = getattr(kills, sys.argv[2])
for number in range(1, 10**9):
    write(pathlib.Path(sys.argv[1]), number)
    if number == 1:
        print("writing", flush=True)
"""


def write_file(path, number):
    """Writes a file whose content shows whether the file is complete."""
    write_json(path, {"number": number, "text": LENGTH * str(number % 10)})


def write_folder(path, number):
    """Writes a folder with several files that contain the same number."""
    with _files.staged(path, _files.replaceable_saved_model) as candidate:
        (candidate / "variables").mkdir(parents=True)
        for name in MEMBERS:
            (candidate / name).write_text(str(number))


def _check_file(path):
    held = json.loads(path.read_text())
    if held["text"] != LENGTH * str(held["number"] % 10):
        raise Wrong("half a file")


def _check_folder(path):
    held = {name: (path / name).read_text() for name in MEMBERS}
    if len(set(held.values())) != 1 or set(tree(path)) != {*MEMBERS, "variables"}:
        raise Wrong(f"half a folder: {held}")


def _killed(rng, words, **options):
    """Starts a process, and kills the process some milliseconds after it begins to write."""
    with (
        _interruptible(),
        subprocess.Popen(
            [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
        ) as process,
    ):
        if options.get("wait", True) and process.stdout.readline() != b"writing\n":
            raise Wrong(f"it did not begin: {process.stderr.read().decode()[-300:]}")
        time.sleep(rng.uniform(*options["seconds"]))
        process.send_signal(draws.draw(rng, SIGNALS))
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:  # Python ignores an interrupt during a finalizer
            process.kill()
            process.communicate()


@contextlib.contextmanager
def _interruptible():
    """Makes SIGINT interrupt this process and the processes that are started in the block.

    Processes that a shell starts in the background ignore SIGINT without this context.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def file(rng, folder):
    """Kills a process that writes the same file again and again."""
    path = folder / "notes.json"
    _killed(rng, ["-c", WRITES, str(path), "write_file"], seconds=(0, 0.02))
    _check_file(path)
    write_file(path, 1)
    return _alone(folder, path)


def folder_of_files(rng, folder):
    """Kills a process that replaces a folder again and again. The next process must restore the
    folder.
    """
    path = folder / "model"
    _killed(rng, ["-c", WRITES, str(path), "write_folder"], seconds=(0, 0.02))
    try:
        with _files.staged(path, _files.replaceable_saved_model):
            raise ZeroDivisionError
    except ZeroDivisionError:
        _check_folder(path)
    return _alone(folder, path)


def build(rng, folder):
    """Kills a process that prepares a data set. The next process must finish the data set."""
    samples.write(folder / "manual", VOWELS)
    name, data = "japanese_vowels_lpc/ts", folder / "data"
    words = ["-m", "tfds_builders.build", name, "--manual-dir", folder / "manual"]
    words += ["--data-dir", data, "--file-format", "array_record"]
    _killed(rng, words, wait=False, seconds=(1, 3.5))
    records = reading.records(name, folder / "manual", data)
    if [len(records[split]) for split in ("train", "test")] != [9, 9]:
        raise Wrong("not all records")
    prepared = data / "array_record" / name / str(tfds_builders.builder_cls(name).VERSION)
    own = (prepared, prepared.parents[1] / ".config")  # a file of TFDS
    left = [
        path
        for path in data.rglob("*")
        if not any(path.is_relative_to(one) or one.is_relative_to(path) for one in own)
    ]
    if left:
        raise Wrong(f"left over: {left}")
    return Verdict.ANSWERED


def _alone(folder, path):
    left = sorted(each.name for each in folder.iterdir())
    if left != [path.name]:
        raise Wrong(f"left over after the next run: {left}")
    return Verdict.ANSWERED


KINDS = {
    "writing a file": (9, file),
    "replacing a folder": (9, folder_of_files),
    "preparing a data set": (2, build),
}
