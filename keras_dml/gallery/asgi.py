"""ASGI application that serves a gallery. Environment variables configure the application.

`uvicorn keras_dml.gallery.asgi:application` runs the application. The first access to the attribute
`application` opens the gallery and loads the model.

| variable | meaning |
| --- | --- |
| `KERAS_DML_GALLERY` | path of the gallery, or URL of a PostgreSQL database |
| `KERAS_DML_GALLERY_MODEL` | model of a new gallery, or the new path of a moved model file |
| `KERAS_DML_GALLERY_KEY`, `KERAS_DML_GALLERY_KEYS` | arguments `key` and `keys` of `Gallery` |
| `KERAS_DML_SERVE_TOKEN_FILE` | file of tokens that allow everything, one per line |
| `KERAS_DML_SERVE_VERIFY_TOKEN_FILE` | file of tokens that allow verification only |
| `KERAS_DML_SERVE_SCORES` | `1`: responses contain scores, rounded to integers from 0 to 100 |
| `KERAS_DML_SERVE_ORIGINS` | origins of other sites whose pages may send requests |
| `KERAS_DML_SERVE_NAMES` | names of the server in addition to its addresses |

Separate multiple origins or names by spaces. Without a token file, the server answers only requests
from the same machine.
"""

import functools
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp


@functools.cache
def _application() -> "ASGIApp":
    from keras_dml.gallery import Gallery
    from keras_dml.gallery.server import app, logs, settings

    path = os.environ.get("KERAS_DML_GALLERY")
    if not path:
        raise ValueError(
            "KERAS_DML_GALLERY must name the gallery to serve: the path of its file, or the URL "
            "of a PostgreSQL database."
        )
    options = settings.of_environment()
    logs.install()
    model = os.environ.get("KERAS_DML_GALLERY_MODEL") or None
    gallery = Gallery(path, model, keys=os.environ.get("KERAS_DML_GALLERY_KEYS") or None)
    return app.application(gallery, options)


def __getattr__(name: str) -> "ASGIApp":
    if name == "application":
        return _application()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
