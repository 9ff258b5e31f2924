"""Tests the state of a gallery after processes that enrolled people were killed at random moments.

python -m tests.bench.gallery_killed --times 300
python -m tests.bench.gallery_killed --times 300 --place server

The gallery must contain every acknowledged enrollment and no incomplete enrollment, and the file
must be valid. With `--place server`, the script kills the server and all its processes while two
processes enroll people.
"""

import argparse
import contextlib
import multiprocessing
import os
import pathlib
import random
import select
import shutil
import signal
import sqlite3
import tempfile
import time

import numpy as np

from keras_dml.gallery.records import Records
from tests.bench import smoke

KEY = bytes(range(32))
RECORDINGS, NUMBERS = 3, 64  # recordings per person, and numbers per embedding
LONGEST_SECONDS = 0.3  # longest life of a process
SMOKE = {"times": 1, "place": "file"}
PLACES = ("file", "encrypted file", "server", "encrypted server")


class Flat:
    """Index that uses unchanged embeddings as vectors."""

    metric, numbers = "l1", NUMBERS

    def vectors(self, embeddings):
        return np.reshape(embeddings, (-1, NUMBERS)).astype("float32")


def opened(place):
    store = Records(**place)
    store.describe({"model": "m", "fingerprint": "f"}, Flat)
    return contextlib.closing(store)


def enroll(place, name, acknowledged):
    """Enrolls `name 0`, `name 1`, ... until the process or the server is killed.

    After each enrollment the function writes the number to a pipe.
    """
    with contextlib.suppress(OSError), opened(place) as store:
        for i in range(10**6):
            store.add(f"{name} {i}", np.full((RECORDINGS, NUMBERS), i))
            os.write(acknowledged, f"{i}\n".encode())
            time.sleep(random.random() / 500)  # SQLite's lock goes to the quickest, not to the next


class Writer:
    """Process that enrolls people."""

    def __init__(self, place, name):
        self.name = name
        self._read, write = os.pipe()
        self._process = multiprocessing.get_context("fork").Process(
            target=enroll, args=(place, name, write)
        )
        self._process.start()
        os.close(write)

    def kill(self):
        os.kill(self._process.pid, signal.SIGKILL)

    def wait(self):
        """Waits until the process has enrolled a person or has ended."""
        select.select([self._read], [], [])

    def acknowledged(self):
        """Returns the number of enrollments that were acknowledged before the process ended."""
        self._process.join()
        with open(self._read, encoding="ascii") as lines:
            return sum(line.endswith("\n") for line in lines)


def kill_writers(writers):
    """Kills one process, and later the other process. Until it is killed, the other process
    continues to enroll people.
    """
    for writer in writers:
        time.sleep(random.random() * LONGEST_SECONDS)
        writer.kill()


def kill_server(server):
    time.sleep(random.random() * LONGEST_SECONDS)
    server.kill()
    server.start()


def lost_and_halved(place, acknowledged):
    """Counts the enrollments in the gallery, the lost enrollments and the incomplete enrollments.

    An enrollment is lost if it was acknowledged but is not in the gallery.
    """
    with opened(place) as store:
        names, _, flat = store.templates()
        people = store.people()
    rows = {}
    for name, row in zip(names, flat, strict=True):
        rows.setdefault(name, []).append(row)
    halved = [
        name
        for name in people
        if np.shape(rows.get(name)) != (RECORDINGS, NUMBERS)
        or not (np.array(rows[name]) == float(name.rsplit(" ", 1)[1])).all()
    ]
    lost = [
        f"{name} {i}"
        for name, count in acknowledged.items()
        for i in range(count)
        if f"{name} {i}" not in people
    ]
    return len(people), lost, halved


def integrity(place):
    """Returns the messages of SQLite's integrity check."""
    messages = []
    for path in (place["path"], place.get("keys")):
        if path is not None and "://" not in str(path):
            with contextlib.closing(sqlite3.connect(path)) as connection:
                messages += [row for (row,) in connection.execute("PRAGMA integrity_check")]
    return messages


def run(place, times, server=None):
    """Kills processes or the server `times` times, and prints the state of the gallery.

    Returns:
        True if the file is valid, and if no enrollment is lost or incomplete.
    """
    acknowledged, killed, begin = {}, 0, time.perf_counter()
    while killed < times:
        writers = [Writer(place, f"writer {killed}.{i}") for i in range(2)]
        if random.random() < 0.7:  # otherwise while they open the gallery or wait for its lock
            writers[0].wait()
        if server is None:
            kill_writers(writers)
        else:
            kill_server(server)
        killed += 1 if server else 2
        acknowledged |= {writer.name: writer.acknowledged() for writer in writers}
    seconds = time.perf_counter() - begin
    result, lost, halved = lost_and_halved(place, acknowledged)
    sound = integrity(place)
    print(
        f"{killed} kills in {seconds:.0f} s: {sum(acknowledged.values()):,} enrollments "
        f"acknowledged, {result:,} found, {len(lost)} lost, {len(halved)} not whole; "
        f"integrity_check: {', '.join(sound) or 'none of a server'}"
    )
    return not lost and not halved and set(sound) <= {"ok"}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--times", type=int, default=300)
    options.add_argument("--place", choices=PLACES, default="encrypted file")
    options.add_argument("--seed", type=int, default=None, help="of the moments")
    arguments = smoke.parse(options, globals(), SMOKE)
    random.seed(arguments.seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kdml-killed-"))
    place, server = {"path": folder / "people.db"}, None
    if arguments.place.startswith("encrypted"):
        place["key"] = KEY
    with contextlib.ExitStack() as ended:
        ended.callback(shutil.rmtree, folder, ignore_errors=True)
        if arguments.place.endswith("server"):
            from tests.gallery.postgres import Server

            server = Server(folder / "server")
            ended.callback(server.kill)
            place["path"] = server.database()
            if "key" in place:
                place["keys"] = folder / "people.keys"
        print(f"{arguments.place}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        raise SystemExit(0 if run(place, arguments.times, server) else 1)


if __name__ == "__main__":
    main()
