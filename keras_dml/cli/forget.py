"""`keras-dml forget GALLERY PERSON RECORDING...`: removes single recordings of a person."""

import unicodedata
from typing import Annotated

import typer

from keras_dml.cli import _options


def run(
    gallery: _options.Gallery,
    person: _options.Person,
    recordings: Annotated[
        list[str],
        typer.Argument(
            help="Ids of recordings, which `keras-dml recordings` lists.", show_default=False
        ),
    ],
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
):
    """Forget single recordings of a person: the gallery is as if they had never been enrolled.

    It needs no model. With the last recording the person is removed. If an id is unknown, nothing
    is removed. Copies of the gallery still have the recordings; a server has them until it is
    purged, see `keras-dml remove`.

    Exit status: 0 forgotten, 2 nothing was removed.

    Example: keras-dml forget family.db alice 0f3a5b7c9d1e2f40
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    stopped = "Stopped. `keras-dml recordings` says which recordings are still there."
    with _console.stoppable(stopped), _answers.answered():
        galleries.forget(gallery, person, recordings, **vars(access))
        people = galleries.people(gallery, **vars(access))
        left = people.get(unicodedata.normalize("NFC", person), 0)
    ids = list(dict.fromkeys(recordings))
    if as_json:
        _console.json_object({"person": person, "forgotten": ids, "enrolled": left})
    elif left:
        _console.echo(_console.plain(f"{person}: {len(ids)} recordings forgotten, {left} left"))
    else:
        _console.echo(_console.plain(f"{person}: the last recording is forgotten, and the person"))
