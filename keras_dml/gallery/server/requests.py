"""Recordings in requests: files of a form, or arrays of numbers in JSON."""

import contextlib
import dataclasses
import json
import tempfile

import numpy as np
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

MOST_JSON = 4 * 10**6  # bytes; read into Python's numbers they take 16 times as much
JSON = "application/json"
FORM = "multipart/form-data"


@dataclasses.dataclass
class Sent:
    """Recordings of a request, and what they do not say.

    Attributes:
        files: `(name, file)` of each.
        fields: The other fields, a model of `schemas`.
    """

    files: list
    fields: BaseModel


def sent(model):
    """Returns a dependency of a route that takes recordings.

    Args:
        model: Model of `schemas` for the other fields.
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
                    "A client may not send `threshold`: the server decides by its own. `far` "
                    "chooses one of those that are set."
                )
            try:
                checked = model.model_validate(fields)
            except ValidationError as error:
                raise RequestValidationError(error.errors()) from None
            yield Sent(files, checked)

    return read


def described(model):
    """Returns the `openapi_extra` of a route that takes recordings, see `sent`."""
    fields = model.model_json_schema()
    named = {"type": "object", "additionalProperties": False}
    required = fields.get("required", [])

    def with_(name, schema):
        properties = {name: schema, **fields["properties"]}
        return {"schema": named | {"properties": properties, "required": [name, *required]}}

    file = {"type": "string", "format": "binary"}
    text = "Recordings: csv, npy, parquet, wav or flac files."
    files = {"type": "array", "items": file, "description": text}
    rows = {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}
    arrays = {
        "type": "array",
        "items": rows,
        "description": "Recordings: one row per time step, with one number per channel.",
    }
    content = {FORM: with_("files", files), JSON: with_("recordings", arrays)}
    return {"requestBody": {"required": True, "content": content}}


def _files(form, model):
    """Files of a form, and its other fields; empty ones are left out."""
    files, fields = [], {}
    for name, value in form.multi_items():
        if name == "files" and isinstance(value, UploadFile):
            files.append((value.filename, value.file))
        elif name == "people" and name in model.model_fields:
            fields.setdefault(name, []).append(value)
        elif name == "files" or not isinstance(value, str) or name in fields:
            raise ValueError(f"`{name[:100]}` must be sent once, and `files` as files.")
        else:
            fields[name] = value
    return files, fields


async def _json(request):
    """The JSON object of a request."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_JSON:
            text = f"JSON may have {MOST_JSON // 10**6} MB: send longer recordings as files."
            raise HTTPException(413, text)
    try:
        fields = json.loads(bytes(body))
    except (ValueError, RecursionError):
        raise ValueError("The body is not JSON.") from None
    if not isinstance(fields, dict):
        raise ValueError('The body must be an object, as {"recordings": [[[0.1, 0.2, 9.8], …]]}.')
    return fields


def _arrays(fields, opened):
    """Arrays of a JSON object as npy files, and the other fields."""
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
            f"recordings[{number}] must have one row per time step, and each row one number per "
            "channel."
        )
    file = opened.enter_context(tempfile.TemporaryFile())
    np.save(file, values, allow_pickle=False)
    return file
