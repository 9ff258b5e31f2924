"""Implements the command `keras-dml remove GALLERY PERSON`, which removes a person."""

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
            help="After the removal, rewrite the gallery, and list places where removed data may "
            "remain. A server erases data only if the gallery is rewritten.",
        ),
    ] = False,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
) -> None:
    """Remove a person and all recordings of this person.

    The command needs no model. No data of the person remains in the gallery file. Delete copies of
    the file, such as backups, yourself. If an encrypted gallery is on a server, the command
    destroys the person's key. On a server, the data stays on the disk until you use --purge.

    Exit status: 0 if the person is removed, 2 if not.

    Example: keras-dml remove family.db bob
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    stopped = "Stopped. `keras-dml people` lists the people who are still enrolled."
    with _console.stoppable(stopped), _answers.spell_messages():
        galleries.remove(gallery, person, **vars(access))
        left = len(galleries.people(gallery, **vars(access)))
        remains = galleries.purge(gallery, **vars(access)) if purge else ()
    if as_json:
        _console.print_json({"removed": person, "people": left, "remains": list(remains)})
        return
    _console.echo(f"{_console.escape(person)} removed, {left} left")
    for place in remains:
        _console.echo(_console.escape(f"Removed data may remain here: {place}"))
    if "://" in gallery and not purge:
        _console.note("Note: removed data stays on the disk of the server until you use --purge.")
