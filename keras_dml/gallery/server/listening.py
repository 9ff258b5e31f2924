"""Opens the socket of the server, runs and ends the server, and limits how long requests may
take."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
import types

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from keras_dml.gallery.server import guard
from keras_dml.gallery.server.tokens import Tokens

HEAD_SECONDS = 5  # longest time for the head of a request, from the connection or last response
MOST_WAITING = 256  # connections without a complete head; the oldest ones are closed
SECONDS_TO_FINISH = 2  # time to respond to requests while the server ends
SECONDS_TO_END = 4  # time until the process ends without waiting for threads


def to(host: str, port: int, tokens: Tokens | None = None) -> socket.socket:
    """Opens a listening socket.

    Args:
        host: Address at which the server listens.
        port: Port. 0 selects any free port.
        tokens: Tokens of clients, or None.

    Raises:
        ValueError: If other machines could use the server without a token.
        OSError: If the address and port cannot be used.
    """
    if not tokens and not guard.is_loopback(host):
        raise ValueError(
            f"Other machines can use the gallery at {host} without a token. Give --token-file FILE "
            "with tokens for clients, or leave out --host. Make a token: (umask 077; openssl rand "
            "-hex 32 > FILE)"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise OSError(
            f"Cannot listen at {host}, port {port}: {error.strerror}. Give another --port or "
            "--host."
        ) from None
    # The connections of the socket inherit this option. Without it, the body of each response waits
    # 40 ms for the client to acknowledge the head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def address(listener: socket.socket) -> str:
    """Returns the URL of a listening socket."""
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(application: ASGIApp, listener: socket.socket) -> None:
    """Runs the server until Ctrl-C.

    The server ends within five seconds after Ctrl-C, even if it has not responded to all requests.
    The server cannot stop threads. If a thread still works after five seconds, the process ends
    without waiting for the thread. All changes that the gallery has confirmed are already saved.
    """
    with contextlib.suppress(KeyboardInterrupt):
        server(application).run(sockets=[listener])


def server(application: ASGIApp) -> uvicorn.Server:
    """Returns a server that writes no access log, because paths contain names of people."""
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
    """A uvicorn server that ends within five seconds after a signal."""

    def handle_exit(self, sig: int, frame: types.FrameType | None) -> None:
        """Ends the server after a signal. A second SIGINT ends the process at once."""
        if self.should_exit and sig == signal.SIGINT:
            _end()
        timer = threading.Timer(SECONDS_TO_END, _end)
        timer.daemon = True
        timer.start()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends the process even if a thread still processes a cancelled request."""
        await super().shutdown(sockets)
        if self._captured_signals and self.server_state.tasks:
            await asyncio.sleep(0.1)  # time to send the responses of cancelled requests
            _end()


def _end():
    """Ends the process without waiting for threads."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)


class Protocol(H11Protocol):
    """HTTP protocol for `uvicorn --http` that limits the time for the head (the header lines) of a
    request.

    By itself, uvicorn limits only the time between requests, and stops its timer at the first byte
    of a head.
    """

    _waiting = {}  # connections without a complete head, the oldest first

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Starts the timer for the head of the first request."""
        super().connection_made(transport)
        self._clock = None
        self._start()

    def data_received(self, data: bytes) -> None:
        """Stops the timer if the head of a request is complete."""
        super().data_received(data)
        if self._is_answering():
            self._stop()
        else:
            self._start()

    def on_response_complete(self) -> None:
        """Starts the timer for the head of the next request, or for the rest of a body that was not
        read completely."""
        super().on_response_complete()
        if not self.transport.is_closing() and not self._is_answering():
            self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the timer."""
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
