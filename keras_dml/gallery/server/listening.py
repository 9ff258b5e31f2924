"""The socket of the server, its loop, and its end."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from keras_dml.gallery.server import guard

HEAD_SECONDS = 5  # for the head of a request, from the first byte or the end of the last answer
MOST_WAITING = 256  # connections without a whole head; beyond, the oldest is closed
SECONDS_TO_FINISH = 2  # for requests that are under way when the server ends
SECONDS_TO_END = 4  # until the process ends, whatever it does


def to(host, port, tokens=None):
    """Listens.

    Args:
        host: Address.
        port: Port; 0: any free one.
        tokens: `Tokens` that clients must give, or None.

    Raises:
        ValueError: If others than this machine would reach it without a token.
        OSError: If it cannot listen there.
    """
    if not tokens and not guard.is_loopback(host):
        raise ValueError(
            f"At {host} other machines reach the gallery: give --token-file FILE, which clients "
            "must know, or leave out --host. Make a token: (umask 077; openssl rand -hex 32 > FILE)"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise OSError(
            f"Cannot listen at {host}, port {port}: {error.strerror}. Give another --port or "
            "--host."
        ) from None


def address(listener):
    """URL of a listening socket."""
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(application, listener):
    """Serves until Ctrl-C, then ends within five seconds, whatever requests are under way.

    Threads cannot be stopped. If one still works for a request when the time is over, the process
    ends without it. A gallery has written everything that it acknowledged.
    """
    with contextlib.suppress(KeyboardInterrupt):
        server(application).run(sockets=[listener])


def server(application):
    """Returns a `uvicorn.Server` that logs no requests by itself: paths have names of people."""
    return _Server(
        uvicorn.Config(
            application,
            access_log=False,
            http=Protocol,
            lifespan="on",
            log_config=None,
            log_level="warning",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=SECONDS_TO_FINISH,
            timeout_keep_alive=HEAD_SECONDS,
            ws="none",
        )
    )


class _Server(uvicorn.Server):
    """A server that ends in time."""

    def handle_exit(self, sig, frame):
        """Asks the server to end. A second signal ends it at once."""
        if self.should_exit and sig == signal.SIGINT:
            _end()
        timer = threading.Timer(SECONDS_TO_END, _end)
        timer.daemon = True
        timer.start()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets=None):
        """Ends the process if a request that was cancelled still has a thread."""
        await super().shutdown(sockets)
        if self._captured_signals and self.server_state.tasks:
            await asyncio.sleep(0.1)  # the answers that the server ends
            _end()


def _end():
    """Ends the process without waiting for threads."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)


class Protocol(H11Protocol):
    """HTTP with a time limit for the head of a request, for `uvicorn --http`.

    uvicorn limits only the time between requests, and bytes of an unfinished head stop that clock.
    """

    _waiting = {}  # connections without a whole head, the oldest first

    def connection_made(self, transport):
        """Starts the clock."""
        super().connection_made(transport)
        self._clock = None
        self._start()

    def data_received(self, data):
        """Stops the clock if a request has begun; bytes alone do not."""
        super().data_received(data)
        if self._is_answering():
            self._stop()
        else:
            self._start()

    def on_response_complete(self):
        """Starts the clock for the next head, or for the rest of a body that nobody reads."""
        super().on_response_complete()
        if not self.transport.is_closing() and not self._is_answering():
            self._start()

    def connection_lost(self, exc):
        """Stops the clock."""
        self._stop()
        super().connection_lost(exc)

    def _is_answering(self):
        return self.cycle is not None and not self.cycle.response_complete

    def _start(self):
        if self._clock is not None:
            return
        self._clock = self.loop.call_later(HEAD_SECONDS, self._close)
        self._waiting[self] = None
        if len(self._waiting) > MOST_WAITING:
            next(iter(self._waiting))._close()

    def _stop(self):
        self._waiting.pop(self, None)
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _close(self):
        self._stop()
        self.transport.close()
