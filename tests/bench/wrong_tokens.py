"""Waits of other clients while an attacker sends 10,000 wrong tokens to a server within a minute.

python -m tests.bench.wrong_tokens

The server runs in a process of its own, on a stub gallery that needs no model. Eight threads send
wrong tokens at an even pace. Meanwhile a client with the right token asks for the people. The
script exits with status 1 if the client waits longer than two seconds, or if the wrong tokens take
longer than a minute.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import http.client
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

from tests.bench import smoke

GUESSES, SECONDS, THREADS = 10_000, 60, 8
MOST_SECONDS = 2  # that the other client may wait
USUAL = 50  # requests of the other client without an attack
SMOKE = {"GUESSES": 100, "SECONDS": 2, "USUAL": 5}
TOKEN = "0123456789abcdef"


@contextlib.contextmanager
def serving():
    """Serves a stub gallery; yields the host and the port."""
    with tempfile.TemporaryDirectory() as folder:
        token = pathlib.Path(folder, "token")
        token.touch(0o600)
        token.write_text(TOKEN)
        words = [sys.executable, "-m", "tests.gallery.stub_server", "no-file.csv", str(token)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            try:
                address = process.stdout.readline().strip().removeprefix("http://").rstrip("/")
                host, _, port = address.partition(":")
                yield host, int(port)
            finally:
                process.terminate()


def ask(address, token):
    """Returns the status of `GET /people`, and the seconds until the answer."""
    start = time.perf_counter()
    connection = http.client.HTTPConnection(*address, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", "/people", headers={"Authorization": f"Bearer {token}"})
        status = connection.getresponse().status
    return status, time.perf_counter() - start


def guess(address, number, start):
    """Sends a wrong token at its time, and returns the status of the answer."""
    time.sleep(max(0.0, start + number * SECONDS / GUESSES - time.perf_counter()))
    return ask(address, f"guess-{number:020}")[0]


def show(name, waits):
    """Prints the waits of the client with the right token."""
    median, longest = np.median(waits), max(waits)
    print(
        f"{name}: {len(waits):,} requests with the right token, median {1e3 * median:.0f} ms, "
        f"longest {1e3 * longest:.0f} ms",
        flush=True,
    )


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    is_smoke = smoke.parse(options, globals(), SMOKE).smoke
    with serving() as address, concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        show("without an attack", [ask(address, TOKEN)[1] for _ in range(USUAL)])
        start, waits = time.perf_counter(), []
        guesses = [pool.submit(guess, address, number, start) for number in range(GUESSES)]
        while not all(job.done() for job in guesses[-THREADS:]):
            status, seconds = ask(address, TOKEN)
            if status != 200:
                raise SystemExit(f"The right token was answered by status {status}.")
            waits.append(seconds)
            time.sleep(0.02)
        statuses = collections.Counter(job.result() for job in guesses)
        duration = time.perf_counter() - start
    show("during the attack", waits)
    counts = ", ".join(f"{count:,} by {status}" for status, count in sorted(statuses.items()))
    print(f"{GUESSES:,} wrong tokens in {duration:.0f} s, answered {counts}")
    if {*statuses} - {401, 429}:
        raise SystemExit("A wrong token was accepted, or the server failed.")
    if not is_smoke and (max(waits) > MOST_SECONDS or duration > 1.1 * SECONDS):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
