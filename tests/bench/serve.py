"""Measures response times of a gallery server for one client and for several parallel clients.

A server processes requests one after the other. Several servers may share a gallery.

python -m tests.bench.serve
python -m tests.bench.serve --servers 2

The clients identify utterances among four speakers with a small model.
"""

import argparse
import concurrent.futures
import contextlib
import io
import itertools
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import httpx2
import numpy as np

from keras_dml import zoo
from keras_dml.gallery import Gallery
from tests import speakers
from tests.bench import smoke
from tests.speakers import MODEL

WARM_UP = 3  # number of requests before the measurement
SMOKE = {"WARM_UP": 1, "clients": 2, "requests": 1}
STARTED_SECONDS = 600  # longest time that a server may need to start on a busy machine


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--clients", type=int, default=8)
    options.add_argument("--requests", type=int, default=50, help="of a client")
    options.add_argument("--servers", type=int, default=1, help="processes that share the gallery")
    arguments = smoke.parse(options, globals(), SMOKE)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as opened:
        probes = enrolled(pathlib.Path(folder))
        urls = [
            opened.enter_context(serving(f"{folder}/people.db", free_port()))
            for _ in range(arguments.servers)
        ]
        for url in urls:
            asked(url, probes, WARM_UP)
        print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
        for clients in (1, arguments.clients):
            start = time.perf_counter()
            with concurrent.futures.ThreadPoolExecutor(clients) as pool:
                targets = itertools.islice(itertools.cycle(urls), clients)
                times = pool.map(lambda url: asked(url, probes, arguments.requests), targets)
                seconds = np.concatenate(list(times))
            p50, p99 = 1e3 * np.percentile(seconds, [50, 99])
            rate = len(seconds) / (time.perf_counter() - start)
            print(
                f"{clients} at once of {arguments.servers} server(s): p50 {p50:.0f} ms, "
                f"p99 {p99:.0f} ms, {rate:.1f} answers a second"
            )


def enrolled(folder):
    """Makes a gallery of speakers in a folder, and returns the contents of files with probes."""
    card = zoo.card(MODEL)
    earlier, later = speakers.unseen()
    with Gallery(folder / "people.db", MODEL) as gallery:
        for name, utterances in earlier.items():
            gallery.enroll(name, utterances)
    contents = []
    for probe in (utterance for utterances in later.values() for utterance in utterances):
        times = np.arange(len(probe)) / card["input"]["rate_hz"]
        with io.BytesIO() as file:
            header = ",".join(["time_s", *card["input"]["channels"]])
            np.savetxt(file, np.c_[times, probe], "%.9g", ",", header=header, comments="")
            contents.append(file.getvalue())
    return contents


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextlib.contextmanager
def serving(path, port):
    words = [sys.executable, "-m", "keras_dml.cli", "serve", path, "--port", str(port)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    # The context manager closes the pipe.
    with subprocess.Popen(words, **pipes, text=True) as server:
        try:
            url = server.stdout.readline().partition(" ")[0]
            deadline = time.monotonic() + STARTED_SECONDS
            while time.monotonic() < deadline:
                with contextlib.suppress(httpx2.TransportError):
                    if httpx2.get(f"{url}people").status_code == 200:
                        break
                time.sleep(0.5)
            yield url
        finally:
            server.terminate()


def asked(url, probes, count):
    """Measures the seconds until each response for one client."""
    seconds = []
    with httpx2.Client(timeout=600) as client:
        for probe in itertools.islice(itertools.cycle(probes), count):
            start = time.perf_counter()
            sent = [("files", ("new.csv", probe))]
            answer = client.post(f"{url}identify", files=sent)
            seconds.append(time.perf_counter() - start)
            answer.raise_for_status()
    return np.array(seconds)


if __name__ == "__main__":
    main()
