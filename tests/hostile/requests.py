"""Attempts to read names of people with wrong tokens, hosts, origins, methods and paths."""

import asyncio
import functools
import json

from keras_dml.gallery.server import app, settings, tokens
from tests.gallery.stub_server import StubGallery
from tests.hostile import draws
from tests.hostile.checks import Verdict, Wrong

FULL, VERIFY = b"0123456789abcdef", b"fedcba9876543210"
HOST = b"127.0.0.1:8000"
REFUSALS = {400, 401, 403, 404, 405, 408, 413, 415, 421, 422, 429}
SCHEMES = (b"Bearer", b"bearer", b"BEARER", b"Basic", b"Token", b"Bearer:", b"Bearer\t", b"", b"=")
SPACES = (b" ", b"  ", b"\t", b"", b"\xa0", b"\x00", b"\x0b", b", ", b"=")
NAMES = (b"example.org", b"127.0.0.1.example.org", b"localhost.example.org", b"example.org:8000")
NAMES += (b"example.org#127.0.0.1", b"example.org/127.0.0.1", b"127.0.0.1@example.org", b"", b"[")
NAMES += (b"[::1", b"[::ffff:8.8.8.8]", b"8.8.8.8", b"0x7f.1.1.1", b"localhost\x00", b"\xff", b"]")
NAMES += (b"a" * 10_000, b"localhost example.org", b"127.0.0.1,example.org", b"xn--", b":8000")
ORIGINS = (
    b"null",
    b"https://example.org",
    b"http://127.0.0.1:8001",
    b"http://127.0.0.1",
    b"http://",
)
ORIGINS += (b"file://", b"http://127.0.0.1:8000.example.org", b"http://example.org@127.0.0.1:8001")
ORIGINS += (b"http://127.0.0.1:8000/", b"http://[::1", b"", b"data:", b"chrome-extension://abc")
SITES = (b"cross-site", b"same-site", b"CROSS-SITE", b"", b"x", b"none, cross-site")
METHODS = ("GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "get", "\x00")
PATHS = (
    "/people",
    "/people/alice",
    "/identify",
    "/verify",
    "/thresholds",
    "/metrics",
    "/../people",
)
PATHS += ("//people", "/people/", "/people%00", "/people/%2e%2e", "/people/" + 9_000 * "a", "")


@functools.cache
def _application():
    allowed = tokens.Tokens((FULL,), (VERIFY,))
    return app.application(StubGallery(), settings.Settings(tokens=allowed))


def _answer(headers, method="GET", path="/people", address="10.0.0.1"):
    """Sends a request with some headers. Returns the status and body of the response."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": (address, 5000),
        "server": ("127.0.0.1", 8000),
    }
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    asyncio.run(_application()(scope, receive, send))
    if not sent:
        raise Wrong("no answer")
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], body


def _settle(status, body, is_right):
    """Checks the response to a request. The response may contain names of people only if `is_right`
    is true.
    """
    if b"alice" in body and not is_right:
        raise Wrong(f"status {status} with names of people")
    if is_right:
        if status != 200:
            raise Wrong(f"status {status} to a right request, {body[:100]!r}")
        return Verdict.ANSWERED
    if status not in REFUSALS:
        raise Wrong(f"status {status}, {body[:100]!r}")
    if body and not {"error", "detail"} & {*json.loads(body)}:
        raise Wrong(f"a refusal without a reason, {body[:100]!r}")
    return Verdict.REFUSED


def _address(rng):
    """Draws an address that has not sent wrong tokens."""
    return ".".join(map(str, [10, *rng.integers(0, 256, 3)]))


def authorization(rng, folder):
    """Sends a truncated, duplicate or damaged token, or another authorization scheme."""
    token = draws.draw(rng, (FULL, VERIFY))
    kind = rng.integers(6)
    if kind == 0:
        token = draws.damaged(rng, token)
    elif kind == 1:
        token = token[: rng.integers(len(token))]
    elif kind == 2:
        token = token + draws.draw(rng, (b"\x00", b"=", b",", token, b" x", b"0"))
    value = draws.draw(rng, SCHEMES) + draws.draw(rng, SPACES) + token
    headers = [(b"host", HOST), (b"authorization", value)]
    if kind == 3:
        headers = [(b"host", HOST), (b"authorization", b""), (b"authorization", value)]
    if kind == 4:
        headers = [(b"host", HOST), (b"x-authorization", value), (b"cookie", value)]
    scheme, _, rest = value.partition(b" ")
    is_right = kind not in (3, 4) and scheme.lower() == b"bearer"
    is_right = is_right and rest.decode("latin-1").strip() == FULL.decode()
    return _settle(*_answer(headers, address=_address(rng)), is_right)


def hosts(rng, folder):
    """Sends foreign, duplicate and damaged values of the header Host."""
    names = [draws.draw(rng, NAMES)]
    if rng.random() < 0.3:
        names.insert(int(rng.integers(2)), HOST)
    if rng.random() < 0.1:
        names = []
    headers = [(b"host", name) for name in names]
    headers += [(b"authorization", b"Bearer " + FULL), (b"x-forwarded-host", HOST)]
    return _settle(*_answer(headers, address=_address(rng)), False)


def origins(rng, folder):
    """Sends requests as pages of other sites would, with and without the headers of browsers."""
    headers = [(b"host", HOST), (b"authorization", b"Bearer " + FULL)]
    method, is_link = draws.draw(rng, ("GET", "POST", "DELETE")), False
    if rng.random() < 0.6:
        headers.append((b"origin", draws.draw(rng, ORIGINS)))
        if rng.random() < 0.3:
            headers.append((b"origin", b"http://" + HOST))
    else:
        mode = draws.draw(rng, (b"navigate", b"cors", b"no-cors", b"websocket", b""))
        headers += [(b"sec-fetch-site", draws.draw(rng, SITES)), (b"sec-fetch-mode", mode)]
        is_link = mode == b"navigate" and method == "GET"
    return _settle(*_answer(headers, method, address=_address(rng)), is_link)


def rights(rng, folder):
    """Sends unusual methods and paths, with a token that may only verify or without a token."""
    method, path = draws.draw(rng, METHODS), draws.draw(rng, PATHS)
    headers, is_known = [(b"host", HOST)], rng.random() < 0.5
    if is_known:
        headers.append((b"authorization", b"Bearer " + VERIFY))
    status, body = _answer(headers, method, path, _address(rng))
    is_open = is_known and path == "/metrics" and method in ("GET", "HEAD") and status == 200
    if b"alice" in body or not is_open and not 300 <= status < 500:
        raise Wrong(f"{method} {path[:40]!r}: status {status}, {body[:100]!r}")
    return Verdict.ANSWERED if is_open else Verdict.REFUSED


def right(rng, folder):
    """Sends a request with a correct token, Host and Origin."""
    headers = [(b"host", draws.draw(rng, (HOST, b"localhost:8000", b"127.0.0.1", b"[::1]:8000")))]
    headers.append((b"authorization", b"Bearer " + FULL))
    if rng.random() < 0.5:
        headers.append((b"origin", b"http://" + headers[0][1]))
    return _settle(*_answer(headers, address=_address(rng)), True)


KINDS = {
    "headers of authorization": (100, authorization),
    "names of the server": (100, hosts),
    "origins": (100, origins),
    "rights": (60, rights),
    "right requests": (10, right),
}
