"""`keras-dml serve GALLERY`: a page on a gallery, and a REST interface to it."""

from typing import Annotated

import typer

from keras_dml.cli import _completion, _options

Host = Annotated[
    str,
    typer.Option(
        "--host", metavar="ADDRESS", help="Address to listen on; another one needs a token."
    ),
]
Port = Annotated[
    int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0: any free one.")
]
TokenFile = Annotated[
    str | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="File of a token that clients must give (`openssl rand -hex 32 > FILE`).",
        show_default="none is asked for",
        autocompletion=_completion.paths,
    ),
]


def run(
    gallery: _options.Gallery,
    model: _options.GalleryModel = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token_file: TokenFile = None,
    key: _options.Key = None,
    keys: _options.Keys = None,
):
    """Serve a gallery to a browser: drop a recording, enroll, verify, identify, see why.

    The page is at /, the REST interface is described at /docs and /openapi.json. Only this machine
    reaches it, and everybody on it, unless --host says otherwise. It speaks plain HTTP, which
    others on the way can read: reach it from other machines through an SSH tunnel, or a reverse
    proxy with TLS.

    Exit status: 0 ended by Ctrl-C, 2 it could not be served.

    Example: keras-dml serve family.db
    """
    from keras_dml.cli import _answers, _console, _extras, _galleries

    with _answers.answered():
        _extras.require_server()
        from keras_dml.cli._serve import _guard, _listening

        token = None if token_file is None else _guard.read_token(token_file)
        with _listening.to(host, port, token) as listener:
            may_be_new = model is not None
            with _galleries.opened(gallery, model, may_be_new=may_be_new, key=key, keys=keys) as it:
                from keras_dml.cli._serve import _app

                application = _app.application(it, host, token)
                _console.echo(_console.plain(f"{_listening.address(listener)} (Ctrl-C ends it)"))
                _listening.serve(application, listener)
