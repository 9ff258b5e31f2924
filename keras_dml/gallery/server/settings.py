"""Settings of the server."""

from __future__ import annotations

import dataclasses
import os
import urllib.parse

from keras_dml.gallery.server.tokens import Tokens, read_tokens

PREFIX = "KERAS_DML_SERVE_"


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of the server.

    Attributes:
        host: Address that it listens on. None: another program listens.
        tokens: `Tokens`; empty: everybody on this machine may do everything, and nobody else.
        scores: Whether answers hold closeness, rounded, and pictures of what made a distance.
        origins: Origins of other sites whose pages may ask, such as "https://app.example.org".
        names: Further names that the server answers to, such as "people.example.org".
    """

    host: str | None = "127.0.0.1"
    tokens: Tokens = dataclasses.field(default_factory=Tokens)
    scores: bool = False
    origins: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def __post_init__(self):
        for origin in self.origins:
            check_origin(origin)


def check_origin(origin):
    """Raises `ValueError` if a text is not an origin: a scheme, a host and perhaps a port."""
    try:
        parts = urllib.parse.urlsplit(origin)
        is_valid = parts.scheme in ("http", "https") and parts.hostname
        is_valid = is_valid and origin == f"{parts.scheme}://{parts.netloc}" and "@" not in origin
    except ValueError:
        is_valid = False
    if not is_valid or "*" in origin or origin != origin.lower():
        raise ValueError(
            "An origin must be a scheme, a host and perhaps a port in lower case, as "
            f"https://app.example.org. Received {origin!r}."
        )


def of_files(full=None, verify=None):
    """Returns the `Tokens` of files, or of None.

    Args:
        full: File of tokens for everything.
        verify: File of tokens that may only verify.
    """
    return Tokens(read_tokens(full) if full else (), read_tokens(verify) if verify else ())


def of_environment():
    """Returns the `Settings` of environment variables, see `keras_dml.gallery.asgi`."""
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
