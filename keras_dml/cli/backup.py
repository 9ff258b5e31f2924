"""`keras-dml backup GALLERY FILE`: a copy of a gallery."""

from typing import Annotated

import typer

from keras_dml.cli import _completion, _options


def run(
    gallery: _options.Gallery,
    file: Annotated[
        str,
        typer.Argument(
            help="The copy, a new file.", show_default=False, autocompletion=_completion.paths
        ),
    ],
    replace: _options.Replace = False,
    as_json: _options.AsJson = False,
):
    """Copy a gallery to a file as it is at one moment, also while it is in use.

    It needs no model and no key. The copy is a gallery too: personal data. It keeps people who are
    removed from the gallery later. Copy galleries of PostgreSQL by pg_dump.

    Exit status: 0 the copy is written, 2 it is not.

    Example: keras-dml backup family.db family-backup.db
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with (
        _console.stoppable(f"Stopped; {file} is as it was. Run the command again."),
        _answers.answered(),
    ):
        galleries.backup(gallery, file, replace=replace)
    if as_json:
        _console.json_object({"gallery": gallery, "backup": file})
        return
    _console.echo(_console.plain(f"{file}: a copy of {gallery}"))
    _console.note("Note: the copy holds embeddings and names: personal data.")
