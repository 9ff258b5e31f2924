"""Routes of the server: what may be asked of a gallery over HTTP."""

import asyncio
import pathlib
from typing import Annotated

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from keras_dml import __version__
from keras_dml.gallery import TooManyTries
from keras_dml.gallery.server import errors, guard, logs, requests, schemas, uploads
from keras_dml.gallery.server.desk import Desk
from keras_dml.gallery.server.metrics import CONTENT_TYPE, Metrics
from keras_dml.gallery.server.tokens import Client

PAGE = pathlib.Path(__file__).parent / "page"
KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
ADDRESSES = {"index.html": "/", "docs.html": "/docs"}
STATIC = {  # hold nothing of the gallery
    ADDRESSES.get(path.name, f"/{path.name}"): (path.name, KINDS[path.suffix])
    for path in sorted(PAGE.iterdir())
    if path.suffix in KINDS
}
OPENAPI = "/openapi.json"
OPEN = {*STATIC, OPENAPI, "/healthz", "/readyz"}
READY_SECONDS = 2
TOKEN = HTTPBearer(auto_error=False, description="A token, if the server asks for one.")
# Names of the functions of routes. The page asks which sensor it is to record with.
VERIFY_ONLY = {"verify", "listen", "listen_on", "model", "prometheus"}
PROBLEMS = {
    code: {"model": schemas.Problem, "description": text}
    for code, text in {
        401: "The token is missing or wrong",
        403: "The token may only verify",
        404: "Nobody of this name is enrolled",
        408: "The request did not arrive in time",
        413: "The request is too large",
        422: "A recording or a field does not fit",
        429: "Too many tries: wait for the seconds of Retry-After",
        503: "The gallery cannot be used now, or too many requests wait",
    }.items()
}


def _client(request: Request):
    return request.scope["client_of_token"]


def _check_rights(request: Request):
    client = request.scope.get("client_of_token")
    name = request.scope["route"].name
    if client is not None and not client.may_change and name not in VERIFY_ONLY:
        raise HTTPException(403, "This token may only verify: it may not do this.")


Asker = Annotated[Client, Depends(_client)]
Recordings = Annotated[requests.Sent, Depends(requests.sent(schemas.Reading))]
Claim = Annotated[requests.Sent, Depends(requests.sent(schemas.Claim))]
Search = Annotated[requests.Sent, Depends(requests.sent(schemas.Search))]
Volunteers = Annotated[requests.Sent, Depends(requests.sent(schemas.Volunteers))]


def application(gallery, settings):
    """The server's application.

    Args:
        gallery: `Gallery`, open.
        settings: `Settings`.

    Returns:
        ASGI application.
    """
    uploads.sweep()
    words, metrics = errors.Words(gallery.path), Metrics()
    desk = Desk(gallery, words, settings.scores, metrics)
    app = FastAPI(
        title="keras-dml",
        version=__version__,
        description="People enrolled in a gallery: who is it, or is it the one who is claimed?",
        openapi_url=OPENAPI,
        docs_url=None,  # FastAPI's own loads scripts of another site
        redoc_url=None,
        lifespan=desk.open,
        responses=PROBLEMS,
        dependencies=[Depends(TOKEN), Depends(_check_rights)],
    )
    _add_state(app, desk, metrics)
    _add_decisions(app, desk, settings.scores)
    _add_rejections(app, desk)
    _add_people(app, desk)
    for path, (name, kind) in STATIC.items():
        app.add_api_route(path, _sender((PAGE / name).read_bytes(), kind), include_in_schema=False)
    _add_errors(app, words)
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


def _add_state(app, desk, metrics):
    @app.get("/healthz", summary="Whether the server runs")
    async def healthz() -> schemas.Health:
        return schemas.Health()

    @app.get("/readyz", summary="Whether the gallery can be asked")
    async def readyz() -> schemas.Health:
        try:
            async with asyncio.timeout(READY_SECONDS):
                await desk.check()
        except TimeoutError:
            raise HTTPException(*errors.BUSY) from None
        return schemas.Health()

    @app.get(
        "/metrics",
        summary="Numbers about the server, for Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}}},
    )
    async def prometheus():
        return Response(metrics.text(), media_type=CONTENT_TYPE)


def _add_people(app, desk):
    @app.get("/people", summary="Who is enrolled")
    async def people() -> list[schemas.Person]:
        return await desk.people()

    @app.get("/model", summary="What recordings the model takes")
    async def model() -> schemas.Model:
        return desk.model()

    @app.get("/thresholds", summary="The thresholds that are set, the strictest first")
    async def thresholds() -> list[schemas.Threshold]:
        return await desk.thresholds()

    @app.post(
        "/calibration",
        summary="Set a threshold by recordings of people who are not enrolled",
        openapi_extra=requests.described(schemas.Volunteers),
    )
    async def calibrate(client: Asker, sent: Volunteers) -> schemas.Calibration:
        return await desk.calibrate(client, sent)

    @app.get("/people/{person:path}/recordings", summary="When recordings were enrolled")
    async def recordings(person: str) -> list[schemas.Recording]:
        return await desk.recordings(person)

    @app.post(
        "/people/{person:path}/recordings",
        summary="Enroll recordings of a person",
        openapi_extra=requests.described(schemas.Reading),
    )
    async def enroll(person: str, client: Asker, sent: Recordings) -> schemas.Enrollment:
        return await desk.enroll(client, person, sent)

    @app.patch("/people/{person:path}", summary="Give a person another name")
    async def rename(person: str, new: schemas.NewName) -> schemas.Renamed:
        return await desk.rename(person, new.name)

    @app.delete("/people/{person:path}", summary="Remove a person and all that is stored of them")
    async def remove(person: str) -> schemas.Removed:
        return await desk.remove(person)


def _add_decisions(app, desk, scores):
    @app.post(
        "/people/{person:path}/verify",
        summary="Are the recordings this person's?",
        openapi_extra=requests.described(schemas.Claim),
    )
    async def verify(person: str, client: Asker, sent: Claim) -> schemas.Decision:
        return await desk.verify(client, person, sent)

    @app.post(
        "/people/{person:path}/listen",
        summary="Listen to the first piece of a recording: is it this person's?",
        openapi_extra=requests.described(schemas.Claim),
    )
    async def listen(person: str, client: Asker, sent: Claim) -> schemas.Heard:
        return await desk.listen(client, person, sent)

    @app.post(
        "/listening/{number}",
        summary="Listen to the next piece of a recording",
        openapi_extra=requests.described(schemas.Reading),
    )
    async def listen_on(number: str, client: Asker, sent: Recordings) -> schemas.Heard:
        return await desk.listen_on(client, number, sent)

    @app.post(
        "/people/{person:path}/explanation",
        summary="Picture of what made the distance of the first recording, with --scores",
        response_class=Response,
        responses={200: {"content": {"image/svg+xml": {}}}},
        openapi_extra=requests.described(schemas.Reading),
    )
    async def explain(person: str, client: Asker, sent: Recordings):
        if not scores:
            raise HTTPException(
                403, "The server gives out decisions only. Start it with --scores for pictures."
            )
        return Response(await desk.explain(client, person, sent), media_type="image/svg+xml")

    @app.post(
        "/identify",
        summary="Who is it, or a stranger?",
        openapi_extra=requests.described(schemas.Search),
    )
    async def identify(client: Asker, sent: Search) -> schemas.Identification:
        return await desk.identify(client, sent)


def _add_rejections(app, desk):
    @app.post(
        "/people/{person:path}/rejections",
        summary="Mark recordings as not this person's",
        openapi_extra=requests.described(schemas.Reading),
    )
    async def reject(person: str, client: Asker, sent: Recordings) -> schemas.Marked:
        return await desk.reject(client, person, sent)

    @app.get("/people/{person:path}/rejections", summary="Recordings marked as not this person's")
    async def rejections(person: str) -> list[schemas.Rejection]:
        return await desk.rejections(person)

    @app.delete("/people/{person:path}/rejections/{recording}", summary="Remove such a mark")
    async def unreject(person: str, recording: str) -> schemas.Left:
        return await desk.unreject(person, recording)


def _sender(content, kind):
    async def send():
        return Response(content, media_type=kind)

    return send


def _add_errors(app, words):
    async def known(_, error):
        status, text = words.answer(error)
        if status == errors.CLOSED[0]:
            logs.error(str(error))  # of a file or a server, not of people
        headers = {"Retry-After": "1"} if status == 503 else None
        return guard.refused(status, text, headers)

    async def too_many(_, error):
        return guard.too_many("Too many claims were rejected.", error.seconds)

    async def refused(_, error):
        return guard.refused(error.status_code, str(error.detail), error.headers)

    async def malformed(_, error):
        wrong = (f"{one['loc'][-1]}: {one['msg']}" for one in error.errors())
        return guard.refused(422, "; ".join(wrong))

    async def unforeseen(*_):
        return guard.refused(500, "The server failed; its log says where.")

    app.add_exception_handler(Exception, unforeseen)
    for kind in errors.KINDS:
        app.add_exception_handler(kind, known)
    app.add_exception_handler(TooManyTries, too_many)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(RequestValidationError, malformed)
