"""Translates errors into HTTP status codes and messages, without paths on this machine."""

import pathlib

from keras_dml import _messages
from keras_dml._typing import Path
from keras_dml.gallery.server.names import NAMES
from keras_dml.gallery.server.threads import Busy

# The first type that fits an error selects its status. Clients see the message of the error.
STATUSES: dict[type[Exception], int] = {
    KeyError: 404,
    TimeoutError: 503,
    ImportError: 501,
    TypeError: 422,
    ValueError: 422,
}
CLOSED = (503, "The server cannot use its gallery or its disk now. The server's log states why.")
BUSY = (503, "The server has too many requests. Send this request again in a second.")
KINDS: tuple[type[Exception], ...] = (*STATUSES, OSError, Busy)


class Translator:
    """Rewords error messages for clients of the REST interface.

    Args:
        path: Path or URL of the gallery. Clients see only the name of the file.
    """

    def __init__(self, path: Path):
        is_url = "://" in str(path)
        self._hidden = {str(path): "the gallery" if is_url else pathlib.Path(path).name}

    def answer(self, error: Exception) -> tuple[int, str]:
        """Returns the HTTP status and the message for an error whose type is in `KINDS`.

        Args:
            error: The error. Its optional attribute `files` is a dict `{path: name}` with the names
                of the files in the request.
        """
        if isinstance(error, Busy):
            return BUSY
        status = next((code for kind, code in STATUSES.items() if isinstance(error, kind)), None)
        names = getattr(error, "files", {})
        if status is None:
            return CLOSED
        return status, self.translate(_messages.text_of(error), names)

    def translate(self, text: str, names: dict[Path, str]) -> str:
        """Returns a message for clients, in which the names of files replace paths.

        Args:
            text: Message of the library.
            names: Names of the files in the request, `{path on this machine: name}`.
        """
        text = _messages.spelled(text, NAMES)
        for path, name in {**self._hidden, **names}.items():
            text = text.replace(str(path), name)
        return text
