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
        help="File of tokens, one per line, that clients must give (`(umask 077; openssl rand -hex "
        "32 > FILE)`). A client with one may do everything.",
        show_default="none is asked for",
        autocompletion=_completion.paths,
    ),
]
VerifyTokenFile = Annotated[
    str | None,
    typer.Option(
        "--verify-token-file",
        metavar="FILE",
        help="File of tokens of clients that may only verify.",
        show_default="there are none",
        autocompletion=_completion.paths,
    ),
]
Scores = Annotated[
    bool,
    typer.Option(
        "--scores",
        help="Answer with closeness from 0 to 100, rounded, and with pictures of what made it. An "
        "attacker who is told closeness improves a recording step by step.",
    ),
]
Origins = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-origin",
        metavar="ORIGIN",
        help="Origin of another site whose pages may ask (CORS), such as https://app.example.org. "
        "May be repeated.",
        show_default="none",
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="NAME",
        help="Further name that the server answers to, such as that of a proxy. May be repeated.",
        show_default="its addresses only",
    ),
]


def run(
    gallery: _options.Gallery,
    model: _options.GalleryModel = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token_file: TokenFile = None,
    verify_token_file: VerifyTokenFile = None,
    scores: Scores = False,
    allow_origin: Origins = None,
    allow_host: Names = None,
    access: _options.Access = _options.Access(),
):
    """Serve a gallery to a browser: drop a recording, enroll, verify, identify.

    The page is at /, the REST interface is described at /docs and /openapi.json. Only this machine
    reaches it, and everybody on it, unless --host says otherwise. It speaks plain HTTP, which
    others on the way can read: reach it from other machines through an SSH tunnel, or a reverse
    proxy with TLS.

    The server decides by the thresholds of the gallery, and answers with decisions only.

    Exit status: 0 ended by Ctrl-C, 2 it could not be served.

    Example: keras-dml serve family.db
    """
    from keras_dml.cli import _answers, _console, _extras, _galleries

    with _answers.answered():
        _extras.require_server()
        from keras_dml.gallery.server import listening, logs, settings

        options = settings.Settings(
            host=host,
            tokens=settings.of_files(token_file, verify_token_file),
            scores=scores,
            origins=tuple(allow_origin or ()),
            names=tuple(allow_host or ()),
        )
        with listening.to(host, port, options.tokens) as listener:
            may_be_new = model is not None
            with _galleries.opened(gallery, model, access, may_be_new=may_be_new) as it:
                from keras_dml.gallery.server import app

                application = app.application(it, options)
                logs.install()
                _console.echo(_console.plain(f"{listening.address(listener)} (Ctrl-C ends it)"))
                listening.serve(application, listener)
