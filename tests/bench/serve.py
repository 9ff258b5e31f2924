"""Measures response times and memory of a gallery server, for one client and for parallel clients.

A server processes requests one after the other. Several servers may share a gallery.

python -m tests.bench.serve
python -m tests.bench.serve --servers 2
python -m tests.bench.serve --engine keras
python -m tests.bench.serve --json

The clients identify recordings among four people. The recordings are the golden recordings of the
model with noise, because times do not depend on who made a recording. The memory of a server is
printed without and with its processes that read files. The processor time per answer is the time
of the server and of its processes that read files. Its inverse is the number of answers a second of
one core, without the time of the clients.
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
import psutil

from keras_dml import edge, zoo
from keras_dml.zoo import lookup, reading
from tests.bench import smoke

PEOPLE, ENROLLED, PROBES = 4, 5, 20
WARM_UP = 3  # number of requests before the measurement
SMOKE = {"WARM_UP": 1, "clients": 2, "requests": 1}
STARTED_SECONDS = 600  # longest time that a server may need to start on a busy machine


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--clients", type=int, default=8)
    options.add_argument("--requests", type=int, default=50, help="of a client")
    options.add_argument("--servers", type=int, default=1, help="processes that share the gallery")
    options.add_argument("--engine", choices=("edge", "keras"), default="edge")
    options.add_argument("--model", default="gait_qp_wl")
    options.add_argument("--json", action="store_true", help="send JSON instead of CSV files")
    arguments = smoke.parse(options, globals(), SMOKE)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as opened:
        probes = enrolled(pathlib.Path(folder), arguments.model, arguments.json)
        servers = [
            opened.enter_context(serving(f"{folder}/people.db", free_port(), arguments.engine))
            for _ in range(arguments.servers)
        ]
        urls = [url for url, _ in servers]
        for url in urls:
            asked(url, probes, WARM_UP)
        print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
        processes = [psutil.Process(server.pid) for _, server in servers]
        for clients in (1, arguments.clients):
            start, used = time.perf_counter(), sum(map(processor_seconds, processes))
            with concurrent.futures.ThreadPoolExecutor(clients) as pool:
                targets = itertools.islice(itertools.cycle(urls), clients)
                times = pool.map(lambda url: asked(url, probes, arguments.requests), targets)
                seconds = np.concatenate(list(times))
            p50, p99 = 1e3 * np.percentile(seconds, [50, 99])
            rate = len(seconds) / (time.perf_counter() - start)
            used = (sum(map(processor_seconds, processes)) - used) / len(seconds)
            print(
                f"{clients} at once of {arguments.servers} server(s): p50 {p50:.0f} ms, "
                f"p99 {p99:.0f} ms, {rate:.1f} answers a second, {1e3 * used:.1f} ms of processor "
                f"time per answer ({1 / used:.0f} answers a second of one core)"
            )
            for process in processes:
                readers = [child.memory_info().rss for child in process.children(recursive=True)]
                own, of_readers = process.memory_info().rss / 1e6, sum(readers) / 1e6
                print(
                    f"server: {own:.0f} MB, {len(readers)} processes that read files: "
                    f"{of_readers:.0f} MB"
                )


def processor_seconds(process):
    """Returns the processor time of a process and of its children. The result includes children
    that have ended."""
    children = process.children(recursive=True)
    return sum(process.cpu_times()[:4]) + sum(sum(child.cpu_times()[:2]) for child in children)


def enrolled(folder, model, is_json):
    """Makes a gallery in a folder, and returns the requests that contain the probes."""
    card, rng = zoo.card(model), np.random.default_rng(0)
    golden, _ = reading.read_golden(lookup.find(model) / card["golden"]["input"])

    def recording(person):
        scale = 1 + person / 10
        signal = golden[person % len(golden)] * scale
        return signal + rng.normal(0, 0.01 * signal.std(axis=0), signal.shape)

    with edge.Gallery(folder / "people.db", model) as gallery:
        for person in range(PEOPLE):
            gallery.enroll(f"{person}", [recording(person) for _ in range(ENROLLED)])
    requests = []
    for probe in (recording(i % PEOPLE) for i in range(PROBES)):
        if is_json:
            requests.append({"json": {"recordings": [probe.tolist()]}})
            continue
        times = np.arange(len(probe)) / card["input"]["rate_hz"]
        with io.BytesIO() as file:
            header = ",".join(["time_s", *card["input"]["channels"]])
            np.savetxt(file, np.c_[times, probe], "%.9g", ",", header=header, comments="")
            requests.append({"files": [("files", ("new.csv", file.getvalue()))]})
    return requests


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextlib.contextmanager
def serving(path, port, engine):
    words = [sys.executable, "-m", "keras_dml.cli", "serve", path, "--port", str(port)]
    words += ["--engine", engine]
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
            yield url, server
        finally:
            server.terminate()


def asked(url, probes, count):
    """Measures the seconds until each response for one client."""
    seconds = []
    with httpx2.Client(timeout=600) as client:
        for probe in itertools.islice(itertools.cycle(probes), count):
            start = time.perf_counter()
            answer = client.post(f"{url}identify", **probe)
            seconds.append(time.perf_counter() - start)
            answer.raise_for_status()
    return np.array(seconds)


if __name__ == "__main__":
    main()
