"""Runs functions in daemon threads. Daemon threads do not delay the end of the process."""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any

MOST_WAITING = 64  # largest number of requests in the queue


class Busy(Exception):
    """Error for a request that arrives while too many requests wait."""


async def in_thread(function: Callable[..., Any], *args: Any) -> Any:
    """Runs a function in a new daemon thread, and returns the result."""
    future = asyncio.get_running_loop().create_future()
    _start(lambda: _run(future, function, args), "request")
    return await future


class Turns:
    """Queue of functions. A single daemon thread runs one function after another.

    The notes in a response are the warnings that the gallery emits for the request. Python cannot
    separate the warnings of several threads, so the gallery processes one request at a time.
    """

    def __init__(self):
        self._queue = queue.Queue(MOST_WAITING)
        self._is_started, self._lock = False, threading.Lock()

    async def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Runs a function after all functions that are already in the queue, and returns the
        result.

        Raises:
            Busy: If too many functions are in the queue.
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
            if not future.cancelled():  # cancelled when the connection ends
                _run(future, function, args)


def _start(target, name):
    threading.Thread(target=target, name=name, daemon=True).start()


def _run(future, function, args):
    """Runs a function and stores its result or error in a future."""
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
