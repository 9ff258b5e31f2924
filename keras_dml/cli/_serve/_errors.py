"""Errors as a client is told them: the library's message, without paths of this machine."""

import pathlib

from keras_dml.cli import _words

STATUSES = {  # the first that fits; the messages of these are written for users
    KeyError: 404,
    TimeoutError: 503,
    ImportError: 501,
    TypeError: 422,
    ValueError: 422,
}
CLOSED = (503, "The server cannot use its gallery or its disk now; what it printed says why.")
KINDS = (*STATUSES, OSError)


class Told:
    """Gives errors a status and words.

    Args:
        path: Path or URL of the gallery, of which its name alone is told.
    """

    def __init__(self, path):
        is_url = "://" in str(path)
        self._hidden = {str(path): "the gallery" if is_url else pathlib.Path(path).name}

    def answer(self, error):
        """Status and message of an error of `KINDS`, which may have the `files` that it names."""
        status = next((code for kind, code in STATUSES.items() if isinstance(error, kind)), None)
        names = getattr(error, "files", {})
        return CLOSED if status is None else (status, self.words(_words.text_of(error), names))

    def words(self, text, names):
        """A message in words of the interface.

        Args:
            text: The message.
            names: Name of each file that was sent, by its path here.
        """
        for path, name in {**self._hidden, **names}.items():
            text = text.replace(str(path), name)
        return _words.replaced(text, _words.SERVER)
