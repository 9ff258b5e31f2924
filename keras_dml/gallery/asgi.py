"""The server of a gallery as an ASGI application, configured by environment variables.

`uvicorn keras_dml.gallery.asgi:application` serves it. The gallery and its model are opened when
`application` is first used.

| variable | meaning |
| --- | --- |
| `KERAS_DML_GALLERY` | path of the gallery, or URL of a PostgreSQL database |
| `KERAS_DML_GALLERY_MODEL` | its model, for a new gallery or a model file that was moved |
| `KERAS_DML_GALLERY_KEY`, `KERAS_DML_GALLERY_KEYS` | see `key` and `keys` of `Gallery` |
| `KERAS_DML_SERVE_TOKEN_FILE` | file of tokens, one per line; a client with one may do everything |
| `KERAS_DML_SERVE_VERIFY_TOKEN_FILE` | file of tokens of clients that may only verify |
| `KERAS_DML_SERVE_SCORES` | 1: answers hold closeness, rounded |
| `KERAS_DML_SERVE_ORIGINS` | origins of other sites whose pages may ask, separated by spaces |
| `KERAS_DML_SERVE_NAMES` | names of the server in addition to its addresses |

Without a file of tokens, only this machine is answered.
"""

import functools
import os


@functools.cache
def _application():
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


def __getattr__(name):
    if name == "application":
        return _application()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
