"""Implements the command `keras-dml forget GALLERY PERSON RECORDING...`, which removes recordings
of a person.
"""

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
            help="Ids of recordings, printed by `keras-dml recordings`.", show_default=False
        ),
    ],
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
) -> None:
    """Remove single recordings of a person, as if they had never been enrolled.

    The command needs no model. If the last recording is removed, the person is removed too. If an
    id is unknown, nothing is removed. Copies of the gallery still contain the recordings. If the
    gallery is on a server, the recordings also stay on its disk until you run `keras-dml remove
    --purge`.

    Exit status: 0 if the recordings are removed, 2 if nothing is removed.

    Example: keras-dml forget family.db alice 0f3a5b7c9d1e2f40
    """
    from keras_dml import _figures
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    stopped = "Stopped. `keras-dml recordings` lists the recordings that are still enrolled."
    with _console.stoppable(stopped), _answers.spell_messages():
        galleries.forget(gallery, person, recordings, **vars(access))
        people = galleries.people(gallery, **vars(access))
        left = people.get(unicodedata.normalize("NFC", person), 0)
    ids = list(dict.fromkeys(recordings))
    if as_json:
        _console.print_json({"person": person, "forgotten": ids, "enrolled": left})
    elif left:
        removed = _figures.counted(len(ids), "recording")
        _console.echo(_console.escape(f"{person}: {removed} removed, {left} left"))
    else:
        _console.echo(_console.escape(f"{person}: the last recording and the person are removed"))
