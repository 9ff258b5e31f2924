"""Reads the client and the recordings of a request. The recordings are form files or JSON
arrays."""

import contextlib
import dataclasses
import json
import tempfile
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from keras_dml import recordings as formats
from keras_dml.gallery.server import schemas
from keras_dml.gallery.server.tokens import Client

MOST_JSON = 4 * 10**6  # bytes; parsed JSON takes 16 times as much memory
JSON = "application/json"
FORM = "multipart/form-data"


@dataclasses.dataclass
class Sent:
    """Content of a request, which consists of recordings and other fields.

    Attributes:
        files: Pair `(name, file)` for each recording, with the name of the file and the open file.
        fields: The fields that are not recordings, as an instance of a class in `schemas`.
    """

    files: list[Any]
    fields: BaseModel


def reader(model: type[BaseModel]) -> Callable[..., Any]:
    """Returns a FastAPI dependency that reads the recordings and fields of a request.

    Args:
        model: Class in `schemas` for the fields that are not recordings.
    """

    async def read(request: Request):
        async with contextlib.AsyncExitStack() as opened:
            if request.headers.get("content-type", "").partition(";")[0].strip() == JSON:
                files, fields = _arrays(await _json(request), opened)
            else:
                form = await opened.enter_async_context(request.form())
                files, fields = _files(form, model)
            if "threshold" in fields:
                raise ValueError(
                    "A client may not send `threshold`, because the server has its own thresholds. "
                    "Choose one of them by its false accept rate, `far`."
                )
            try:
                checked = model.model_validate(fields)
            except ValidationError as error:
                raise RequestValidationError(error.errors()) from None
            yield Sent(files, checked)

    return read


def described(model: type[BaseModel]) -> dict[str, Any]:
    """Returns the OpenAPI description for the body of a request with recordings.

    Args:
        model: Class in `schemas` for the fields that are not recordings.
    """
    fields = model.model_json_schema()
    closed = {"type": "object", "additionalProperties": False}
    required = fields.get("required", [])

    def with_recordings(name, schema):
        properties = {name: schema, **fields["properties"]}
        return {"schema": closed | {"properties": properties, "required": [name, *required]}}

    file = {"type": "string", "format": "binary"}
    text = f"Recordings: {formats.format_names()} files."
    files = {"type": "array", "items": file, "description": text}
    rows = {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}
    arrays = {
        "type": "array",
        "items": rows,
        "description": "Recordings with one row per time step and one number per channel.",
    }
    content = {
        FORM: with_recordings("files", files),
        JSON: with_recordings("recordings", arrays),
    }
    return {"requestBody": {"required": True, "content": content}}


def _files(form, model):
    """Returns the files and the other fields of a form as `(files, fields)`."""
    files, fields = [], {}
    for name, value in form.multi_items():
        if name == "files" and isinstance(value, UploadFile):
            files.append((value.filename, value.file))
        elif name == "people" and name in model.model_fields:
            fields.setdefault(name, []).append(value)
        elif name == "files" or not isinstance(value, str) or name in fields:
            raise ValueError(f"Send the field `{name[:100]}` only once, and send `files` as files.")
        else:
            fields[name] = value
    return files, fields


async def _json(request):
    """Reads the JSON object in the body of a request."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_JSON:
            text = f"JSON must not exceed {MOST_JSON // 10**6} MB. Send longer recordings as files."
            raise HTTPException(413, text)
    try:
        fields = json.loads(bytes(body))
    except (ValueError, RecursionError):
        raise ValueError("The body is not JSON.") from None
    if not isinstance(fields, dict):
        raise ValueError(
            f"The body is a {type(fields).__name__}. It must be an object, such as "
            '{"recordings": [[[0.1, 0.2, 9.8], …]]}.'
        )
    return fields


def _arrays(fields, opened):
    """Writes the recordings of a JSON object to npy files. Returns `(files, other fields)`."""
    recordings = fields.pop("recordings", None)
    if not isinstance(recordings, list):
        raise ValueError("`recordings` must be a list of recordings.")
    files = [(f"recordings[{i}].npy", _file(i, x, opened)) for i, x in enumerate(recordings)]
    return files, fields


def _file(number, rows, opened):
    try:
        values = np.asarray(rows)
        values = None if values.dtype.kind in "US" else values.astype(np.float64)  # null is NaN
    except (TypeError, ValueError, OverflowError):
        values = None
    if values is None or values.ndim != 2:
        raise ValueError(
            f"recordings[{number}] must have one row per time step, with one number per channel in "
            "each row."
        )
    file = opened.enter_context(tempfile.TemporaryFile())
    np.save(file, values, allow_pickle=False)
    return file


async def _client(request: Request) -> Client:  # `async`, so that it needs no thread
    return request.scope["client_of_token"]


# Types for the parameters of handlers.
FromClient = Annotated[Client, Depends(_client)]
Recordings = Annotated[Sent, Depends(reader(schemas.Reading))]
Claim = Annotated[Sent, Depends(reader(schemas.Claim))]
Search = Annotated[Sent, Depends(reader(schemas.Search))]
Volunteers = Annotated[Sent, Depends(reader(schemas.Volunteers))]
