"""Threads that do not hold the exit of the process."""

import asyncio
import contextlib
import queue
import threading

MOST_WAITING = 64  # requests that wait for their turn


class Busy(Exception):
    """Too many requests wait for their turn."""


async def in_thread(function, *args):
    """Returns what a function returns, which runs in a daemon thread of its own."""
    future = asyncio.get_running_loop().create_future()
    _start(lambda: _run(future, function, args), "request")
    return await future


class Turns:
    """Runs functions one after the other in one daemon thread.

    A gallery answers one question at a time: the notes of an answer are warnings, which Python
    catches for all threads at once.
    """

    def __init__(self):
        self._queue = queue.Queue(MOST_WAITING)
        self._is_started, self._lock = False, threading.Lock()

    async def run(self, function, *args):
        """Returns what a function returns, after those that came before.

        Raises:
            Busy: If too many wait.
        """
        future = asyncio.get_running_loop().create_future()
        try:
            self._queue.put_nowait((future, function, args))
        except queue.Full:
            raise Busy from None
        with self._lock:
            if not self._is_started:
                _start(self._work, "gallery")
                self._is_started = True
        return await future

    def _work(self):
        while True:
            future, function, args = self._queue.get()
            if not future.cancelled():  # by the end of the connection
                _run(future, function, args)


def _start(target, name):
    threading.Thread(target=target, name=name, daemon=True).start()


def _run(future, function, args):
    """Gives a future what a function returns or raises."""
    try:
        result, error = function(*args), None
    except BaseException as caught:
        result, error = None, caught
    with contextlib.suppress(RuntimeError):  # the loop has ended
        future.get_loop().call_soon_threadsafe(_settle, future, result, error)


def _settle(future, result, error):
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
