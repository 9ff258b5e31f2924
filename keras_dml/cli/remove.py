"""`keras-dml remove GALLERY PERSON`: forgets a person."""

from typing import Annotated

import typer

from keras_dml.cli import _options


def run(
    gallery: _options.Gallery,
    person: _options.Person,
    purge: Annotated[
        bool,
        typer.Option(
            "--purge",
            help="Then write all anew, which a server needs, and list where it may still be.",
        ),
    ] = False,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
):
    """Remove a person and all that is stored of them; no byte of it stays in a gallery's file.

    It needs no model. Copies of the file, such as backups, are yours to delete. A server destroys
    the person's key, if there is one, but its disk keeps what was removed until it is purged.

    Exit status: 0 removed, 2 there is nobody of this name, or it could not be done.

    Example: keras-dml remove family.db bob
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    stopped = "Stopped. `keras-dml people` says who is still there."
    with _console.stoppable(stopped), _answers.answered():
        galleries.remove(gallery, person, **vars(access))
        left = len(galleries.people(gallery, **vars(access)))
        remains = galleries.purge(gallery, **vars(access)) if purge else ()
    if as_json:
        _console.json_object({"removed": person, "people": left, "remains": list(remains)})
        return
    _console.echo(f"{_console.plain(person)} removed, {left} left")
    for place in remains:
        _console.echo(_console.plain(f"It may still be here: {place}"))
    if "://" in gallery and not purge:
        _console.note("Note: the server's disk keeps what was removed until --purge.")
