"""The socket of the server, and its loop."""

import contextlib
import socket

from keras_dml.cli._serve import _guard

MOST_CONNECTIONS = 64
SECONDS_TO_FINISH = 5  # for requests that are under way when it ends


def to(host, port, token=None):
    """Listens.

    Raises:
        ValueError: If others than this machine would reach it without a token.
        OSError: If it cannot listen there.
    """
    if token is None and not _guard.is_loopback(host):
        raise ValueError(
            f"At {host} other machines reach the gallery: give --token-file FILE, which clients "
            "must know, or leave out --host. Make a token: openssl rand -hex 32 > FILE"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise OSError(
            f"Cannot listen at {host}, port {port}: {error.strerror}. Give another --port or "
            "--host."
        ) from None


def address(listener):
    """URL of a listening socket."""
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(application, listener):
    """Serves until Ctrl-C."""
    with contextlib.suppress(KeyboardInterrupt):
        server(application).run(sockets=[listener])


def server(application):
    """`uvicorn.Server` that logs nothing by itself: paths have names of people."""
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            application,
            access_log=False,
            lifespan="off",
            limit_concurrency=MOST_CONNECTIONS,
            log_config=None,
            log_level="critical",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=SECONDS_TO_FINISH,
            ws="none",
        )
    )
