"""Settings of the server, and functions that read them."""

import dataclasses
import os
import urllib.parse

from keras_dml._typing import Path
from keras_dml.gallery.server.tokens import Tokens, read_tokens

PREFIX = "KERAS_DML_SERVE_"


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of the server.

    Attributes:
        host: Address at which the server listens. None if another program, such as uvicorn, opens
            the socket.
        tokens: Tokens of clients. If there are no tokens, clients on this machine may do
            everything, and clients on other machines may do nothing.
        scores: Whether responses contain rounded scores from 0 to 100, and pictures that show which
            parts of a recording contribute to a distance.
        origins: Origins of other sites whose pages may send requests, such as
            "https://app.example.org".
        names: Host names of the server in addition to its addresses, such as
            "people.example.org".
    """

    host: str | None = "127.0.0.1"
    tokens: Tokens = dataclasses.field(default_factory=Tokens)
    scores: bool = False
    origins: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for origin in self.origins:
            check_origin(origin)


def check_origin(origin: str) -> None:
    """Raises `ValueError` if a text is not an origin, such as "https://app.example.org"."""
    try:
        parts = urllib.parse.urlsplit(origin)
        is_valid = parts.scheme in ("http", "https") and parts.hostname
        is_valid = is_valid and origin == f"{parts.scheme}://{parts.netloc}" and "@" not in origin
    except ValueError:
        is_valid = False
    if not is_valid or "*" in origin or origin != origin.lower():
        raise ValueError(
            f"{origin!r} is not an origin. An origin is a scheme, a host and perhaps a port in "
            "lower case, such as https://app.example.org."
        )


def of_files(full: Path | None = None, verify: Path | None = None) -> Tokens:
    """Reads tokens from two files.

    Args:
        full: File of tokens that allow everything, or None.
        verify: File of tokens that allow verification only, or None.
    """
    return Tokens(read_tokens(full) if full else (), read_tokens(verify) if verify else ())


def of_environment() -> Settings:
    """Reads settings from environment variables, see `keras_dml.gallery.asgi`."""
    value = {name: os.environ.get(f"{PREFIX}{name}", "").strip() for name in _NAMES}
    if value["SCORES"] not in ("", "0", "1"):
        raise ValueError(f"{PREFIX}SCORES must be 0 or 1. Received {value['SCORES']!r}.")
    return Settings(
        host=None,
        tokens=of_files(value["TOKEN_FILE"], value["VERIFY_TOKEN_FILE"]),
        scores=value["SCORES"] == "1",
        origins=tuple(value["ORIGINS"].replace(",", " ").split()),
        names=tuple(value["NAMES"].replace(",", " ").split()),
    )


_NAMES = ("TOKEN_FILE", "VERIFY_TOKEN_FILE", "SCORES", "ORIGINS", "NAMES")
