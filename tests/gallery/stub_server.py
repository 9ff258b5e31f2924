"""Runs the server with a simulated gallery, so that tests of the server do not load a backend.

`python -m tests.gallery.stub_server FILE [TOKENS]` prints the address of the server and serves
until a signal arrives. Each request for a decision reads FILE instead of the uploaded files. TOKENS
is a file of tokens.
"""

import contextlib
import pathlib
import sys
import threading
import time
import types

import numpy as np

from keras_dml.gallery.server import app, handlers, listening, readers, settings, uploads
from tests.gallery import slow_reader


class StubGallery:
    """Simulated gallery, which accepts recordings for alice if the first number is positive."""

    path = "/secret-folder/family.db"
    inputs = types.SimpleNamespace(contract=None)

    def people(self):
        return {"alice": 3}

    def verify(self, person, recordings, *, far=None, **_):
        if person == "slow":
            time.sleep(600)
        if person != "alice":
            raise KeyError(f"Nobody named {person!r} is enrolled in {self.path}.")
        return types.SimpleNamespace(
            accepted=bool(np.ravel(recordings[0])[0] > 0),
            person=person,
            score=1.23456789,
            scale=types.SimpleNamespace(closeness=lambda distance: 100 - 10 * distance),
            threshold=2.0,
            denied=False,
            far=0.01,
            extrapolated=False,
            provisional=False,
        )


class StubReader:
    """Simulated reader, which does not check the files."""

    unsaid, notes = (), {}

    def __init__(self, gallery, options):
        self._values = {}

    def read_ahead(self, paths, read):
        for path in paths:
            self._values[path] = read(path)[0].values

    def read(self, path):
        return [self._values[path]]


def application(monkeypatch=None, gallery=None, **options):
    """Returns the application of a stub gallery.

    Args:
        monkeypatch: Fixture that installs `StubReader` for one test. None: `StubReader` remains
            installed.
        gallery: A `StubGallery` or an object of a subclass.
        **options: Arguments of `Settings`.
    """
    stub = types.SimpleNamespace(Reader=StubReader)
    if monkeypatch is None:
        handlers.files_of_galleries = stub
    else:
        monkeypatch.setattr(handlers, "files_of_galleries", stub)
    return app.application(gallery or StubGallery(), settings.Settings(**options))


@contextlib.contextmanager
def serving(application):
    """Runs the server in a thread, and yields the host and the port."""
    with listening.to("127.0.0.1", 0) as listener:
        server = listening.server(application)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[:2]
        finally:
            server.should_exit = True
            thread.join()


def main():
    @contextlib.contextmanager
    def paths(*_):
        yield {pathlib.Path(sys.argv[1]): "sent.csv"}

    uploads.paths, readers.COMMAND = paths, slow_reader.COMMAND
    tokens = settings.of_files(*sys.argv[2:3])
    with listening.to("127.0.0.1", 0) as listener:
        print(listening.address(listener), flush=True)
        listening.serve(application(tokens=tokens), listener)


if __name__ == "__main__":
    main()
