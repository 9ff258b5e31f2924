"""Checks requests before the application reads them, and adds headers to all responses."""

import asyncio
import ipaddress
import math
import re
import socket
import time
import urllib.parse
import uuid
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from keras_dml.gallery.server import logs
from keras_dml.gallery.server.metrics import Metrics
from keras_dml.gallery.server.settings import Settings
from keras_dml.gallery.server.tokens import Client, Pauses

MOST_BYTES = 20 * 10**6  # largest size of a request
BODY_SECONDS = 60  # longest time to receive a body
CHUNK_SECONDS = 10  # longest time to receive the next part of a body
TOO_LARGE = f"A request must not exceed {MOST_BYTES // 10**6} MB. Send fewer or shorter recordings."
REQUEST_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
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


class Guard:
    """ASGI middleware that protects the application.

    The guard refuses requests with an unknown host name, a foreign origin or a wrong token, and
    requests that are too large or too slow. The guard hides the messages of unexpected errors from
    clients, and writes a log without names of people.

    A page of another site can make the browser of a user send requests to this server. Another site
    may use a host name that resolves to this server, so the guard checks the header `Host`. The
    browser names the site of the page in the header `Origin`, so the guard also checks `Origin`.

    Args:
        app: The application, which reads the `Client` from `scope["client_of_token"]`.
        settings: Settings of the server.
        open_paths: Paths that do not reveal anything about the gallery and need no token.
        metrics: Counts of requests.
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, open_paths: Collection[str], metrics: Metrics
    ):
        self._app, self._tokens, self._open = app, settings.tokens, open_paths
        self._origins, self._metrics, self._pauses = settings.origins, metrics, Pauses()
        host = settings.host
        self._is_anywhere = host is None
        self._is_local = is_loopback(host) if host else not settings.tokens
        self._names = {"localhost", *(name.lower() for name in settings.names)}
        self._names |= {host.lower()} if host else set()
        if not self._is_local:
            self._names.add(socket.gethostname().lower())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":  # ASGI sends these messages when the server starts and ends
            await self._app(scope, receive, send)
            return
        start, status = time.monotonic(), 500
        headers, method = Headers(scope=scope), scope["method"]
        request_id = headers.get("x-request-id", "")
        if not REQUEST_ID.fullmatch(request_id):
            request_id = uuid.uuid4().hex
        logs.request_id.set(request_id)

        async def send_guarded(message):
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(HEADERS | {"X-Request-ID": request_id})
            elif method == "HEAD":
                message = message | {"body": b""}
            await send(message)

        if method == "HEAD":
            scope = scope | {"method": "GET"}
        try:
            answer = self._refusal(scope, method) or self._app
            await answer(scope, _bounded(receive), send_guarded)
        except asyncio.CancelledError:  # the server ends before the response
            await refused(503, "The server is shutting down.")(scope, receive, send_guarded)
        except Exception as error:
            trace = error.__traceback__
            while trace.tb_next:
                trace = trace.tb_next
            code = trace.tb_frame.f_code  # the message of the error may name people
            place = f"{code.co_filename}, line {trace.tb_lineno}"
            logs.error(f"{type(error).__name__} in {place}")
        route = getattr(scope.get("route"), "path", "-")
        seconds = time.monotonic() - start
        client = scope.get("client_of_token")
        logs.info(
            "request",
            method=method,
            route=route,
            status=status,
            milliseconds=round(1000 * seconds),
            client=client and client.name,
        )
        self._metrics.count_request(method, route, status, seconds)

    def _refusal(self, scope, method):
        """Returns the response that refuses a request, or None if the request is allowed."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return refused(421, "The request names an unknown host. Use the address of the server.")
        if not self._is_same_origin(headers, hosts[0], method):
            return refused(403, "Requests from the pages of other sites are refused.")
        if scope["path"] not in self._open:
            refusal = self._refusal_of_token(scope, headers)
            if refusal is not None:
                return refusal
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > MOST_BYTES:
            return refused(413, TOO_LARGE)
        return None

    def _is_own(self, host):
        """Returns True if the header `Host` names this server."""
        try:
            name = urllib.parse.urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        address = _address(name)
        if address is not None:  # other sites can redirect host names, but not addresses
            return address.is_loopback or not self._is_local
        return name in self._names

    def _is_same_origin(self, headers, host, method):
        """Returns True if a request comes from a page of this server or of an allowed site."""
        origins = headers.getlist("origin")
        if origins and all(origin in self._origins for origin in origins):
            return True
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            # Links from other sites are allowed, because they change nothing and reveal nothing.
            is_link = headers.get("sec-fetch-mode") == "navigate" and method in ("GET", "HEAD")
            return is_link and not origins
        return all(_netloc(origin) == host.lower() for origin in origins)

    def _refusal_of_token(self, scope, headers):
        """Returns the response that refuses a request, or None if the token of the request is
        correct.

        If the token is correct, this method stores the `Client` in the scope.
        """
        address = (scope.get("client") or ("unknown",))[0]
        if not self._tokens:
            if self._is_anywhere and not is_loopback(address):
                return refused(403, "A server without tokens answers only its own machine.")
            scope["client_of_token"] = Client(address, True)
            return None
        header = headers.get("authorization", "")
        client = self._tokens.client(header)
        if client is not None:
            scope["client_of_token"] = client
            return None
        challenge = {"WWW-Authenticate": "Bearer"}
        if header:
            self._metrics.count_wrong_token()
            seconds = self._pauses.after_wrong(address)
            if seconds > 0:
                return too_many("Too many wrong tokens.", seconds, challenge)
        return refused(401, "Send a token in the header `Authorization: Bearer TOKEN`.", challenge)


def refused(status: int, reason: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Returns a response that refuses a request and states the reason."""
    return JSONResponse({"error": reason}, status, headers)


def too_many(reason: str, seconds: float, headers: dict[str, str] | None = None) -> JSONResponse:
    """Returns a response that refuses requests of a client for some seconds."""
    wait = max(1, math.ceil(seconds))
    headers = {"Retry-After": str(wait), **(headers or {})}
    return refused(429, f"{reason} Wait {wait} seconds before the next request.", headers)


def _netloc(origin):
    scheme, separator, netloc = origin.lower().partition("://")
    return netloc if separator and scheme in ("http", "https") else None


def _address(host):
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Returns True if only this machine can reach an address."""
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def _bounded(receive):
    """Returns an ASGI function `receive` that refuses bodies that are too large or arrive too
    slowly."""
    received, end, is_whole = 0, None, False

    async def bounded():
        nonlocal received, end, is_whole
        if is_whole:  # then the next message is the end of the connection
            return await receive()
        now = time.monotonic()
        end = end or now + BODY_SECONDS
        try:
            async with asyncio.timeout(min(CHUNK_SECONDS, max(0.0, end - now))):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, "The request did not arrive in time.") from None
        received += len(message.get("body", b""))
        if received > MOST_BYTES:
            raise HTTPException(413, TOO_LARGE)
        is_whole = not message.get("more_body", False)
        return message

    return bounded
