"""Makes the ASGI application of the server, with its table of routes and responses to errors."""

import dataclasses
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from keras_dml import __version__, recordings
from keras_dml.gallery import TooManyTries
from keras_dml.gallery.server import errors, guard, logs, requests, schemas, uploads
from keras_dml.gallery.server.handlers import Handlers
from keras_dml.gallery.server.metrics import Metrics
from keras_dml.gallery.server.settings import Settings

if TYPE_CHECKING:  # loads a backend
    from keras_dml.gallery import Gallery


@dataclasses.dataclass(frozen=True)
class Route:
    """A route of the REST interface.

    Attributes:
        method: HTTP method.
        path: Pattern of the path.
        handler: Name of a method of `Handlers`. The server passes the parameters in the path to the
            method. If the method has parameters `client` and `sent`, the server also passes the
            `Client` and the recordings.
        summary: Sentence about the route for the documentation page.
        fields: Class for the fields that a request has in addition to the recordings. None if
            requests contain no recordings.
        may_verify_only: True if the route is open to clients that may only verify.
        media_type: Media type of responses that are not JSON.
    """

    method: str
    path: str
    handler: str
    summary: str
    fields: type[BaseModel] | None = None
    may_verify_only: bool = False
    media_type: str | None = None


# If several routes fit a request, the server uses the first of them. Several routes may fit,
# because names of people may contain slashes.
ROUTES = (
    Route("GET", "/healthz", "healthz", "Check that the server runs"),
    Route("GET", "/readyz", "readyz", "Check that the gallery can be used"),
    Route(
        "GET",
        "/metrics",
        "prometheus",
        "Read the counts of requests and decisions for Prometheus",
        may_verify_only=True,
        media_type="text/plain",
    ),
    Route(
        "POST",
        "/people/{person:path}/verify",
        "verify",
        "Decide whether recordings belong to a person",
        schemas.Claim,
        may_verify_only=True,
    ),
    Route(
        "POST",
        "/people/{person:path}/listen",
        "listen",
        "Begin a claim with the first piece of a recording",
        schemas.Claim,
        may_verify_only=True,
    ),
    Route(
        "POST",
        "/listening/{number}",
        "listen_on",
        "Continue a claim with the next piece of the recording",
        schemas.Reading,
        may_verify_only=True,
    ),
    Route(
        "POST",
        "/people/{person:path}/explanation",
        "explain",
        "Draw which parts of the first recording add to its distance to a person (needs --scores)",
        schemas.Reading,
        media_type="image/svg+xml",
    ),
    Route("POST", "/identify", "identify", "Identify who made recordings", schemas.Search),
    Route(
        "POST",
        "/people/{person:path}/rejections",
        "reject",
        "Store imposter recordings for a person",
        schemas.Reading,
    ),
    Route(
        "GET",
        "/people/{person:path}/rejections",
        "rejections",
        "List the imposter recordings that are stored for a person",
    ),
    Route(
        "DELETE",
        "/people/{person:path}/rejections/{recording}",
        "unreject",
        "Remove an imposter recording that is stored for a person",
    ),
    Route("GET", "/people", "people", "List the enrolled people"),
    # From this response, the web page learns which sensor can make recordings for the model.
    Route(
        "GET",
        "/model",
        "model",
        "Describe the recordings that the model accepts",
        may_verify_only=True,
    ),
    Route(
        "GET",
        "/thresholds",
        "thresholds",
        "List the calibrated thresholds, sorted by false accept rate",
    ),
    Route(
        "POST",
        "/calibration",
        "calibrate",
        "Compute and set a threshold from recordings of enrolled or other people",
        schemas.Volunteers,
    ),
    Route(
        "GET",
        "/people/{person:path}/recordings",
        "recordings",
        "List the enrollment times of a person's recordings",
    ),
    Route(
        "POST",
        "/people/{person:path}/recordings",
        "enroll",
        "Enroll recordings of a person",
        schemas.Reading,
    ),
    Route(
        "GET",
        "/people/{person:path}/completeness",
        "completeness",
        "Describe how complete the enrollment of a person is",
    ),
    Route("GET", "/keeping", "keeping", "Read for how many days recordings are kept"),
    Route("PATCH", "/keeping", "keep", "Set for how many days recordings are kept"),
    Route("GET", "/proposals", "proposals", "List recordings that are proposed as templates"),
    Route(
        "POST",
        "/proposals/{recording}/accept",
        "accept_proposal",
        "Add a proposed recording to the templates of its person",
    ),
    Route(
        "POST",
        "/proposals/{recording}/undo",
        "undo_proposal",
        "Remove a recording that a proposal added",
    ),
    Route("DELETE", "/proposals/{recording}", "destroy_proposal", "Destroy a proposed recording"),
    Route("GET", "/strangers", "strangers", "List recordings of unknown people in groups"),
    Route(
        "POST",
        "/strangers/{stranger}",
        "name_stranger",
        "Enroll the recordings of an unknown person under a name",
    ),
    Route(
        "DELETE",
        "/strangers/{stranger}",
        "destroy_stranger",
        "Destroy the recordings of an unknown person",
    ),
    Route("PATCH", "/people/{person:path}", "rename", "Give a person another name"),
    Route(
        "DELETE",
        "/people/{person:path}",
        "remove",
        "Remove a person and everything that is stored about the person",
    ),
)
VERIFY_ONLY = {route.handler for route in ROUTES if route.may_verify_only}

PAGE = pathlib.Path(__file__).parent / "page"
MEDIA_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
ADDRESSES = {"index.html": "/", "docs.html": "/docs"}
STATIC = {  # files that do not reveal anything about the gallery
    ADDRESSES.get(path.name, f"/{path.name}"): path
    for path in sorted(PAGE.iterdir())
    if path.suffix in MEDIA_TYPES
}
OPENAPI = "/openapi.json"
OPEN = {*STATIC, OPENAPI, "/healthz", "/readyz"}  # paths that need no token
TOKEN = HTTPBearer(auto_error=False, description="A token, if the server requires one.")
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": schemas.Problem, "description": text}
    for code, text in {
        401: "The token is missing or wrong",
        403: "The token may only verify",
        404: "Nobody with this name is enrolled",
        408: "The request did not arrive in time",
        413: "The request is too large",
        422: "A recording or a field is invalid",
        429: "Too many claims or tokens were rejected. Wait as many seconds as Retry-After states",
        503: "The gallery cannot be used now, or too many requests wait",
    }.items()
}


def application(gallery: "Gallery", settings: Settings) -> ASGIApp:
    """Returns the ASGI application that serves a gallery.

    Args:
        gallery: The open gallery.
        settings: Settings of the server.
    """
    uploads.sweep()
    translator, metrics = errors.Translator(gallery.path), Metrics()
    handlers = Handlers(gallery, translator, settings.scores, metrics)
    app = FastAPI(
        title="keras-dml",
        version=__version__,
        description="Enrolls people in a gallery, verifies claims and identifies people.",
        openapi_url=OPENAPI,
        docs_url=None,  # the page of FastAPI loads scripts from another site
        redoc_url=None,
        lifespan=handlers.open,
        responses=PROBLEMS,
        dependencies=[Depends(TOKEN), Depends(_check_rights)],
    )
    for route in ROUTES:
        _add(app, route, getattr(handlers, route.handler))
    for address, path in STATIC.items():
        endpoint = _sender(_content(path), MEDIA_TYPES[path.suffix])
        app.add_api_route(address, endpoint, include_in_schema=False)
    _add_errors(app, translator)
    guarded = guard.Guard(app, settings, OPEN, metrics)
    if not settings.origins:
        return guarded
    return CORSMiddleware(
        guarded,
        allow_origins=settings.origins,
        allow_methods=["GET", "HEAD", "POST", "PATCH", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "X-Request-ID"],
        expose_headers=["Retry-After", "X-Request-ID"],
    )


async def _check_rights(request: Request):
    """Raises an error for a request that the token of the client does not allow."""
    # `async`, because FastAPI runs other functions in a thread, which takes .3 ms per request
    client = request.scope.get("client_of_token")
    name = request.scope["route"].name
    if client is not None and not client.may_change and name not in VERIFY_ONLY:
        raise HTTPException(
            403, ("This token allows only verification. Send a token that allows all requests.")
        )


def _add(app: FastAPI, route: Route, handler: Callable[..., Any]):
    options = {}
    if route.fields is not None:
        options["openapi_extra"] = requests.described(route.fields)
    if route.media_type is not None:
        options["response_class"] = Response
        options["responses"] = {200: {"content": {route.media_type: {}}}}
    app.add_api_route(
        route.path,
        handler,
        methods=[route.method],
        name=route.handler,
        summary=route.summary,
        **options,
    )


def _content(path: pathlib.Path) -> bytes:
    """Reads a file of the web page, and inserts the formats of recordings."""
    content = path.read_bytes()
    if path.suffix == ".html":
        content = content.replace(b"FORMATS", recordings.format_names().encode())
        content = content.replace(b"SUFFIXES", ",".join(recordings.suffixes()).encode())
    return content


def _sender(content: bytes, media_type: str) -> Callable[..., Any]:
    """Returns a handler that always responds with the same content."""

    async def send():
        return Response(content, media_type=media_type)

    return send


def _add_errors(app: FastAPI, translator: errors.Translator):
    """Adds error handlers, which respond with `{"error": ...}`."""

    async def of_library(_, error):
        status, text = translator.answer(error)
        if status == errors.CLOSED[0]:
            logs.error(str(error))  # contains names of files or servers, not of people
        headers = {"Retry-After": "1"} if status == 503 else None
        return guard.refused(status, text, headers)

    async def of_tries(_, error):
        return guard.too_many("Too many claims were rejected.", error.seconds)

    async def of_http(_, error):
        return guard.refused(error.status_code, str(error.detail), error.headers)

    async def of_fields(_, error):
        problems = (f"{problem['loc'][-1]}: {problem['msg']}" for problem in error.errors())
        return guard.refused(422, "; ".join(problems))

    async def unforeseen(*_):
        return guard.refused(500, "The server failed. The server's log states where.")

    app.add_exception_handler(Exception, unforeseen)
    for kind in errors.KINDS:
        app.add_exception_handler(kind, of_library)
    app.add_exception_handler(TooManyTries, of_tries)
    app.add_exception_handler(HTTPException, of_http)
    app.add_exception_handler(RequestValidationError, of_fields)
