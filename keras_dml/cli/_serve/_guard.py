"""What a request has to be before the server looks at it, and what every answer carries."""

import hmac
import ipaddress
import pathlib
import socket
import time
import urllib.parse

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from keras_dml.cli import _console

MOST_BYTES = 20 * 10**6  # of a request
SHORTEST_TOKEN = 16
TOO_LARGE = f"A request may hold {MOST_BYTES // 10**6} MB: send fewer or shorter recordings."
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "accelerometer=(self), camera=(), geolocation=(), gyroscope=(self), "
    "microphone=(self)",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def read_token(path):
    """The token in a file.

    Raises:
        ValueError: If it is no token; what the file holds is not repeated.
        OSError: If the file cannot be read.
    """
    token = pathlib.Path(path).read_bytes().strip()
    if len(token) < SHORTEST_TOKEN or not all(33 <= byte <= 126 for byte in token):
        raise ValueError(
            f"{path} must hold a token of at least {SHORTEST_TOKEN} letters and digits. Make one: "
            f"openssl rand -hex 32 > {path}"
        )
    return token


def is_loopback(host):
    """Whether an address is reached from this machine alone."""
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


class Guard:
    """ASGI application that refuses requests of foreign names, origins and tokens and those that
    are too large, tells nothing of an error that nobody foresaw, and logs without names of people.

    A page of another site reaches this server through the browser of somebody who may use it: by a
    name of its own that leads here (so the Host is checked) or across origins (so the Origin is).

    Args:
        app: The application within, whose routes say what is logged.
        host: Address that the server listens on.
        token: Bytes that `Authorization: Bearer` must give; None: anybody who reaches the server.
        open_paths: Paths that hold nothing of the gallery and need no token.
    """

    def __init__(self, app, host, token, open_paths):
        self._app, self._token, self._open = app, token, open_paths
        self._is_local = is_loopback(host)
        self._names = {"localhost", host.lower()}
        if not self._is_local:
            self._names.add(socket.gethostname().lower())

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            raise ValueError("Only HTTP is served.")
        start, status = time.monotonic(), 500

        async def send_guarded(message):
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            answer = self._refusal(scope) or self._app
            await answer(scope, _bounded(receive), send_guarded)
        except Exception as error:
            trace = error.__traceback__
            while trace.tb_next:
                trace = trace.tb_next
            code = trace.tb_frame.f_code  # its message may name people
            log(f"{type(error).__name__} in {code.co_filename}, line {trace.tb_lineno}")
        route = getattr(scope.get("route"), "path", "-")
        took = 1000 * (time.monotonic() - start)
        log(f"{scope['method']} {route} {status} {took:.0f} ms")

    def _refusal(self, scope):
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return refused(421, "This server does not answer to that name; use its address.")
        if not _is_same_origin(headers, hosts[0]):
            return refused(403, "Requests from the pages of other sites are refused.")
        if scope["path"] not in self._open and not self._is_known(headers):
            challenge = {"WWW-Authenticate": "Bearer"}
            return refused(401, "Give the token of this server.", challenge)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > MOST_BYTES:
            return refused(413, TOO_LARGE)
        return None

    def _is_own(self, host):
        try:
            name = urllib.parse.urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        address = _address(name)
        if address is not None:  # no name, so nobody else's that leads here
            return address.is_loopback or not self._is_local
        return name in self._names

    def _is_known(self, headers):
        if self._token is None:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode("latin-1"), self._token)
        return same and scheme.lower() == "bearer"


def refused(status, reason, headers=None):
    """Answer of a refusal."""
    return JSONResponse({"error": reason}, status, headers)


def _is_same_origin(headers, host):
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        # a link from elsewhere may lead here: it changes nothing and its page reads nothing
        return headers.get("sec-fetch-mode") == "navigate" and "origin" not in headers
    origins = headers.getlist("origin")
    return all(_netloc(origin) == host.lower() for origin in origins)


def _netloc(origin):
    scheme, separator, netloc = origin.lower().partition("://")
    return netloc if separator and scheme in ("http", "https") else None


def _address(host):
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _bounded(receive):
    """`receive` of a body whose length nobody has said."""
    received = 0

    async def bounded():
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MOST_BYTES:
            raise HTTPException(413, TOO_LARGE)
        return message

    return bounded


def log(text):
    """Prints a line on stderr."""
    _console.note(_console.plain(text))
