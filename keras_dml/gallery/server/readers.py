"""Starts processes that read untrusted files, and kills processes that take too long."""

import collections
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from keras_dml.gallery.server import logs, messages
from keras_dml.gallery.server.threads import Busy, in_thread

SECONDS = 20  # longest time to read the files of one request
START_SECONDS = 60  # longest time for the start of a process, in addition to SECONDS
END_SECONDS = 5  # longest time until a process that has closed its output ends
MOST = 8  # largest number of processes for all clients together
MOST_OF_CLIENT = 4  # processes per client; more would block other clients
MOST_WAITING = 64  # largest number of requests that wait for a process
MOST_IDLE = 2  # processes that wait for a request
# A request waits this long for a busy process before it starts another process. Most files are read
# in a few milliseconds, and a process needs 150 ms of processor time and 30 MB to start.
PATIENCE_SECONDS = 0.2
COMMAND = [sys.executable, "-m", "keras_dml.gallery.server.worker"]
ERRORS: dict[str, type[Exception]] = {"value": ValueError, "import": ImportError, "system": OSError}


class ReadingTimeout(ValueError):
    """Error for a file that was not read before the deadline of its request."""


class ReaderCrash(ValueError):
    """Error for a file if the process that read the file ended or sent an invalid response."""


class Readers:
    """Pool of processes that read files. Each process serves one request at a time."""

    def __init__(self):
        self._idle, self._working = [], set()
        self._running = collections.Counter()  # requests by client
        self._waiting, self._changed = 0, threading.Condition()
        weakref.finalize(self, _end_all, self._idle, self._working)

    def start(self) -> None:
        """Starts a process, which imports its libraries before the first request arrives."""
        with self._changed:
            if not self._idle:
                self._idle.append(_Process())

    def end(self) -> None:
        """Ends the processes that wait for a request."""
        with self._changed:
            while self._idle:
                self._idle.pop().end()

    async def run(self, client: str, function: Callable[[Callable[..., Any]], Any]) -> Any:
        """Runs a function that reads files, and returns the result.

        Args:
            client: Name of the client. A client may use at most half of the processes.
            function: Function that is called in a thread. Its argument is a function that reads a
                file as `keras_dml.recordings.read_pieces` does.

        Raises:
            Busy: If too many requests wait.
            OSError: If no process can be started.
        """
        if self._waiting >= MOST_WAITING:
            raise Busy
        self._waiting += 1
        return await in_thread(self._with_process, client, function)

    def _with_process(self, client, function):
        with self._changed:
            self._wait_for_place(client)
            self._waiting -= 1
            self._running[client] += 1
            process = self._idle.pop() if self._idle else None
        try:
            process = process or _Process()
            self._working.add(process)
            process.wait_until_ready()
            end = time.monotonic() + SECONDS
            return function(lambda *args, **options: process.read(end, *args, **options))
        finally:
            self._working.discard(process)
            with self._changed:
                self._running[client] -= 1
                self._running += collections.Counter()  # removes clients whose count is 0
                is_reusable = process and process.is_usable and len(self._idle) < MOST_IDLE
                if is_reusable:
                    self._idle.append(process)
                self._changed.notify_all()
            if process and not is_reusable:
                process.end()

    def _wait_for_place(self, client):
        """Waits until a process is idle, or until the request may start another process."""
        end = time.monotonic() + PATIENCE_SECONDS
        self._changed.wait_for(lambda: self._has_place(client))
        while not self._idle and self._running and time.monotonic() < end:
            self._changed.wait_for(lambda: self._idle, end - time.monotonic())
            self._changed.wait_for(lambda: self._has_place(client))

    def _has_place(self, client):
        return self._running.total() < MOST and self._running[client] < MOST_OF_CLIENT


class _Process:
    """A process that reads one file after another, see `worker`.

    Attributes:
        is_usable: Whether the process can read another file.
    """

    def __init__(self):
        # The new process gets the module path of this process, as in `multiprocessing`.
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self._process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        )
        self.is_usable, self._is_ready, self._is_late = True, False, False

    def wait_until_ready(self):
        """Waits until the process has imported its libraries.

        Raises:
            OSError: If the process ends during the imports, or if the imports exceed
                `START_SECONDS`.
        """
        if self._is_ready:
            return
        with contextlib.suppress(EOFError, OSError, ValueError, RecursionError):
            with self._killed_after(START_SECONDS):
                self._is_ready = messages.read_line(self._process.stdout) == messages.READY
        if not self._is_ready:
            self.is_usable = False
            raise OSError(
                f"A process that reads files did not start within {START_SECONDS} seconds. Its "
                f"program is {' '.join(COMMAND)}."
            )

    def read(self, end, path, channels=None, **options):
        """Reads a file as `keras_dml.recordings.read_pieces` does, but stops at the time `end`.

        Raises:
            ReadingTimeout: If the file is not completely read at the time `end`.
            ReaderCrash: If the process ends before the time `end`, or sends an invalid response.
            ValueError, ImportError, OSError: If `read_pieces` raises the same error.
        """
        if not self.is_usable and not self._is_late:
            raise ReaderCrash(
                f"{path} was not read, because the reading process ended while it read an earlier "
                "file of the request. Send the request again without the earlier file."
            )
        try:
            with self._killed_after(end - time.monotonic()):
                messages.write_line(self._process.stdin, [str(path), channels, options])
                kind, answer = messages.read_line(self._process.stdout)
                if kind == "read":
                    return messages.read_pieces(self._process.stdout, answer, path)
                error = ERRORS[kind](answer)
        except (EOFError, OSError):
            self.is_usable = False
            raise self._reason_of_end(path) from None
        except (ValueError, TypeError, KeyError, RecursionError):
            self.is_usable = False
            raise ReaderCrash(
                f"{path} cannot be read. The process that read it sent an invalid response. "
                "Convert the file to csv."
            ) from None
        raise error

    @contextlib.contextmanager
    def _killed_after(self, seconds):
        """Kills the process if the `with` block takes longer than `seconds`."""

        def kill():
            self._is_late = True
            self.kill()

        timer = threading.Timer(max(0.0, seconds), kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _reason_of_end(self, path):
        """Returns the error for the file that the process was reading when it ended."""
        if self._is_late:
            return ReadingTimeout(
                f"{path} cannot be read within {SECONDS} seconds. Send a shorter recording, or a "
                "recording with fewer columns."
            )
        try:
            status = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            status = 0  # it closed its output but still runs
        reason = f"signal {-status}" if status < 0 else f"exit status {status}"
        with contextlib.suppress(ValueError):
            reason = signal.Signals(-status).name
        logs.error(f"A process that reads files ended with {reason}.")
        cause = ", probably because it ran out of memory" if reason == "SIGKILL" else ""
        return ReaderCrash(
            f"{path} cannot be read. The process that read it ended with {reason}{cause}. Send a "
            "shorter recording, or convert it to csv."
        )

    def kill(self):
        """Kills the process. A thread that reads from the process then stops waiting."""
        self._process.kill()

    def end(self):
        """Ends the process and closes its pipes. Call this method only if no thread reads from the
        pipes."""
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
