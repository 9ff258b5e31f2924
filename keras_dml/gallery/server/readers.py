"""Reads files of strangers in processes that can be ended."""

import collections
import contextlib
import os
import subprocess
import sys
import threading
import time
import weakref

from keras_dml.gallery.server import messages
from keras_dml.gallery.server.threads import Busy, in_thread

SECONDS = 20  # for the files of one request
MOST = 8  # processes
MOST_OF_CLIENT = 4  # of them, so that one client with slow files leaves some to the others
MOST_WAITING = 64  # requests
MOST_IDLE = 2  # processes that wait for the next request
COMMAND = [sys.executable, "-m", "keras_dml.gallery.server.worker"]
ERRORS = {"value": ValueError, "import": ImportError, "system": OSError}


class Readers:
    """Reads the files of requests, each request in one thread with one process."""

    def __init__(self):
        self._idle, self._working = [], set()
        self._running = collections.Counter()  # requests by client
        self._waiting, self._changed = 0, threading.Condition()
        weakref.finalize(self, _end_all, self._idle, self._working)

    async def run(self, client, function):
        """Returns what a function returns.

        Args:
            client: Name of the client; one has half of the processes at most.
            function: Called in a thread with a function that reads a file as
                `keras_dml.recordings.read_pieces` does.

        Raises:
            Busy: If too many requests wait.
        """
        if self._waiting >= MOST_WAITING:
            raise Busy
        self._waiting += 1
        return await in_thread(self._with_process, client, function)

    def _with_process(self, client, function):
        with self._changed:
            self._changed.wait_for(lambda: self._has_place(client))
            self._waiting -= 1
            self._running[client] += 1
            process = self._idle.pop() if self._idle else None
        try:
            process = process or _Process()
            self._working.add(process)
            end = time.monotonic() + SECONDS
            return function(lambda *args, **options: process.read(end, *args, **options))
        finally:
            self._working.discard(process)
            with self._changed:
                self._running[client] -= 1
                self._running += collections.Counter()  # drops zeros
                is_kept = process and process.is_usable and len(self._idle) < MOST_IDLE
                if is_kept:
                    self._idle.append(process)
                self._changed.notify_all()
            if process and not is_kept:
                process.end()

    def _has_place(self, client):
        return self._running.total() < MOST and self._running[client] < MOST_OF_CLIENT


class _Process:
    """A process that reads files one after the other, see `worker`."""

    def __init__(self):
        # the modules of this process, as `multiprocessing` does it, without its main program
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self._process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        )
        self.is_usable = True

    def read(self, end, path, channels=None, **options):
        """Reads a file as `keras_dml.recordings.read_pieces` does, until the time `end`."""
        timer = threading.Timer(max(0.0, end - time.monotonic()), self.kill)
        timer.daemon = True
        timer.start()
        try:
            messages.write_line(self._process.stdin, [str(path), channels, options])
            kind, answer = messages.read_line(self._process.stdout)
            if kind == "read":
                return messages.read_pieces(self._process.stdout, answer, path)
            error = ERRORS[kind](answer)
        except (EOFError, OSError, ValueError, TypeError, KeyError, RecursionError):
            self.is_usable = False  # it was ended, or sends what it should not
            raise ValueError(
                f"{path} cannot be read within {SECONDS} seconds. Send a shorter recording, or one "
                "with fewer columns."
            ) from None
        finally:
            timer.cancel()
        raise error

    def kill(self):
        """Ends the process; what reads from it notices."""
        self._process.kill()

    def end(self):
        """Ends the process, which nothing reads from."""
        self.kill()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def _end_all(idle, working):
    for process in idle:
        process.end()
    for process in working:
        process.kill()
