"""Routes of the server: what may be asked of a gallery over HTTP."""

import dataclasses
import pathlib
from typing import Annotated

from fastapi import Depends, FastAPI, File, Form, Response, UploadFile
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from keras_dml import __version__
from keras_dml.cli._options import Unit
from keras_dml.cli._serve import _errors, _guard, _schemas
from keras_dml.cli._serve._desk import Desk

PAGE = pathlib.Path(__file__).parent / "page"
STATIC = {  # hold nothing of the gallery
    "/": ("index.html", "text/html"),
    "/docs": ("docs.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/formats.js": ("formats.js", "text/javascript"),
    "/sensors.js": ("sensors.js", "text/javascript"),
    "/trace.js": ("trace.js", "text/javascript"),
    "/worklet.js": ("worklet.js", "text/javascript"),
    "/docs.js": ("docs.js", "text/javascript"),
}
OPENAPI = "/openapi.json"
PROBLEMS = {
    code: {"model": _schemas.Problem, "description": text}
    for code, text in {
        401: "The token is missing or another",
        404: "Nobody of this name is enrolled",
        413: "The request is too large",
        422: "A recording or a field does not fit",
    }.items()
}


@dataclasses.dataclass
class Sent:
    """Files of a request, and what they do not say."""

    files: list[UploadFile]
    channels: str | None
    rate_hz: float | None
    resample: bool
    time: str | None
    time_unit: Unit | None
    max_gap: float | None


def _sent(
    files: Annotated[
        list[UploadFile], File(description="Recordings: csv, npy, parquet, wav or flac files.")
    ],
    channels: Annotated[
        str | None, Form(description="Columns that are the model's channels, separated by commas.")
    ] = None,
    rate_hz: Annotated[
        float | None, Form(description="Steps a second of files that do not say it.")
    ] = None,
    resample: Annotated[
        bool, Form(description="Resample recordings to the model's rate; times may be uneven.")
    ] = False,
    time: Annotated[str | None, Form(description="Column that holds the times.")] = None,
    time_unit: Annotated[
        Unit | None, Form(description="Unit of the times: s, ms, us or ns.")
    ] = None,
    max_gap: Annotated[
        float | None, Form(description="Seconds of the longest gap that is interpolated.")
    ] = None,
):
    return Sent(files, channels, rate_hz, resample, time, time_unit, max_gap)


def _limits(
    far: Annotated[
        float | None,
        Form(description="False accept rate of a threshold that is set; else the smallest."),
    ] = None,
    threshold: Annotated[float | None, Form(description="A distance of your own instead.")] = None,
):
    return {"far": far, "threshold": threshold}


Files = Annotated[Sent, Depends(_sent)]
Limits = Annotated[dict, Depends(_limits)]


def application(gallery, host, token=None):
    """The server's application.

    Args:
        gallery: `Gallery`, open.
        host: Address that it listens on.
        token: Bytes that a client must give; None: none are asked for.

    Returns:
        ASGI application.
    """
    told = _errors.Told(gallery.path)
    desk = Desk(gallery, told)
    app = FastAPI(
        title="keras-dml",
        version=__version__,
        description="People enrolled in a gallery: who is it, or is it the one who is claimed?",
        openapi_url=OPENAPI,
        docs_url=None,  # FastAPI's own loads scripts of another site
        redoc_url=None,
        responses=PROBLEMS,
    )
    _add_people(app, desk)
    _add_decisions(app, desk)
    for path, (name, kind) in STATIC.items():
        app.add_api_route(path, _sender((PAGE / name).read_bytes(), kind), include_in_schema=False)
    _add_errors(app, told)
    return _guard.Guard(app, host, token, {*STATIC, OPENAPI})


def _add_people(app, desk):
    @app.get("/people", summary="Who is enrolled")
    def people() -> list[_schemas.Person]:
        return desk.people()

    @app.get("/model", summary="What recordings the model takes")
    def model() -> _schemas.Model:
        return desk.model()

    @app.get("/thresholds", summary="The thresholds that are set, the strictest first")
    def thresholds() -> list[_schemas.Threshold]:
        return desk.thresholds()

    @app.get("/people/{person:path}/recordings", summary="When recordings were enrolled")
    def recordings(person: str) -> list[_schemas.Recording]:
        return desk.recordings(person)

    @app.post("/people/{person:path}/recordings", summary="Enroll recordings of a person")
    def enroll(person: str, sent: Files) -> _schemas.Enrollment:
        return desk.enroll(person, sent)

    @app.delete("/people/{person:path}", summary="Remove a person and all that is stored of them")
    def remove(person: str) -> _schemas.Removed:
        return desk.remove(person)


def _add_decisions(app, desk):
    @app.post("/people/{person:path}/verify", summary="Are the recordings this person's?")
    def verify(person: str, sent: Files, limits: Limits) -> _schemas.Decision:
        return desk.verify(person, sent, limits)

    @app.post(
        "/people/{person:path}/explanation",
        summary="Picture of what made the distance of the first recording",
        response_class=Response,
        responses={200: {"content": {"image/svg+xml": {}}}},
    )
    def explain(person: str, sent: Files):
        return Response(desk.explain(person, sent), media_type="image/svg+xml")

    @app.post("/identify", summary="Who is it, or a stranger?")
    def identify(
        sent: Files,
        limits: Limits,
        top: Annotated[int, Form(ge=1, le=100, description="Number of nearest people.")] = 5,
    ) -> _schemas.Identification:
        return desk.identify(sent, top, limits)


def _sender(content, kind):
    def send():
        return Response(content, media_type=kind)

    return send


def _add_errors(app, told):
    def known(_, error):
        status, text = told.answer(error)
        if status == _errors.CLOSED[0]:
            _guard.log(str(error))  # of a file or a server, not of people
        return _guard.refused(status, text)

    def refused(_, error):
        return _guard.refused(error.status_code, str(error.detail), error.headers)

    def malformed(_, error):
        wrong = (f"{one['loc'][-1]}: {one['msg']}" for one in error.errors())
        return _guard.refused(422, "; ".join(wrong))

    def unforeseen(*_):
        return _guard.refused(500, "The server failed; what it printed says where.")

    app.add_exception_handler(Exception, unforeseen)
    for kind in _errors.KINDS:
        app.add_exception_handler(kind, known)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(RequestValidationError, malformed)
