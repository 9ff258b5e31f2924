"""Implements the command `keras-dml serve GALLERY`, which serves a web page and a REST interface of
a gallery.
"""

from typing import Annotated

import typer

from keras_dml.cli import _completion, _options

Host = Annotated[
    str,
    typer.Option(
        "--host",
        metavar="ADDRESS",
        help="Address to listen on. All addresses except the default need a token.",
    ),
]
Port = Annotated[
    int,
    typer.Option("--port", min=0, max=65535, help="Port to listen on. Use 0 for any free port."),
]
TokenFile = Annotated[
    str | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="File with tokens that give all rights, one token per line (`(umask 077; openssl "
        "rand -hex 32 > FILE)`). Clients must send a token.",
        show_default="clients need no token",
        autocompletion=_completion.complete_paths,
    ),
]
VerifyTokenFile = Annotated[
    str | None,
    typer.Option(
        "--verify-token-file",
        metavar="FILE",
        help="File with tokens that only allow clients to verify people, one token per line.",
        show_default="no such tokens",
        autocompletion=_completion.complete_paths,
    ),
]
Scores = Annotated[
    bool,
    typer.Option(
        "--scores",
        help="Also send the rounded closeness from 0 to 100, and pictures that explain the "
        "closeness. Attackers can use the closeness to improve a recording step by step.",
    ),
]
Origins = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-origin",
        metavar="ORIGIN",
        help="Origin of another site whose pages may send requests (CORS), such as "
        "https://app.example.org. The option may be repeated.",
        show_default="none",
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="NAME",
        help="Additional host name of the server, such as the name of a proxy. The option may be "
        "repeated.",
        show_default="only its addresses",
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
    engine: _options.Engine = None,
) -> None:
    """Serve a web page and a REST interface that enroll, verify and identify people.

    The page is at the path /. The paths /docs and /openapi.json describe the REST interface. By
    default, all users of this machine can reach the server. Other machines cannot reach it. The
    server uses HTTP without encryption. To reach the server from other machines, use an SSH tunnel
    or a reverse proxy with TLS.

    The server decides with the thresholds of the gallery. The responses of the server contain
    decisions, and with --scores they also contain scores.

    Exit status: 0 if ended by Ctrl-C, 2 if the server cannot start.

    Example: keras-dml serve family.db
    """
    from keras_dml.cli import _answers, _console, _extras, _galleries

    with _answers.spell_messages():
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
            with _galleries.open_gallery(
                gallery, model, access, engine=engine, may_be_new=may_be_new
            ) as opened_gallery:
                from keras_dml.gallery.server import app

                application = app.application(opened_gallery, options)
                logs.install()
                _console.echo(_console.escape(f"{listening.address(listener)} (Ctrl-C ends it)"))
                listening.serve(application, listener)
