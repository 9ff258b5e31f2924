"""Measures how long clients wait while an attacker sends 10,000 wrong tokens within a minute.

python -m tests.bench.wrong_tokens

The server runs in a separate process and uses a stub gallery, which needs no model. Eight threads
send wrong tokens to the server at an even pace. At the same time a client with the right token
requests the list of people. The script exits with status 1 if the client waits longer than two
seconds, or if the wrong tokens take longer than a minute.
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
MOST_SECONDS = 2  # longest allowed wait of the client with the right token
USUAL = 50  # number of requests of this client without an attack
SMOKE = {"GUESSES": 100, "SECONDS": 2, "USUAL": 5}
TOKEN = "0123456789abcdef"


@contextlib.contextmanager
def serving():
    """Serves a stub gallery, and yields the host and the port."""
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
    """Returns the status of `GET /people`, and the seconds until the response."""
    start = time.perf_counter()
    connection = http.client.HTTPConnection(*address, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", "/people", headers={"Authorization": f"Bearer {token}"})
        status = connection.getresponse().status
    return status, time.perf_counter() - start


def guess(address, number, start):
    """Sends a wrong token at a given time, and returns the status of the response."""
    time.sleep(max(0.0, start + number * SECONDS / GUESSES - time.perf_counter()))
    return ask(address, f"guess-{number:020}")[0]


def show(name, waits):
    """Prints how long the client with the right token waits."""
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
