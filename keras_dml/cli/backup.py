"""Implements the command `keras-dml backup GALLERY FILE`, which copies a gallery."""

from typing import Annotated

import typer

from keras_dml.cli import _completion, _options


def run(
    gallery: _options.Gallery,
    file: Annotated[
        str,
        typer.Argument(
            help="File to write.",
            show_default=False,
            autocompletion=_completion.complete_paths,
        ),
    ],
    replace: _options.Replace = False,
    as_json: _options.AsJson = False,
) -> None:
    """Copy a gallery to a file, even while other programs use the gallery.

    The command needs no model and no key. The copy is a complete gallery, so it is personal data.
    People whom you remove from the gallery later are still in the copy. Copy galleries on
    PostgreSQL with pg_dump.

    Exit status: 0 if the copy is written, 2 if not.

    Example: keras-dml backup family.db family-backup.db
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with (
        _console.stoppable(f"Stopped. {file} is not changed. Run the command again."),
        _answers.spell_messages(),
    ):
        galleries.backup(gallery, file, replace=replace)
    if as_json:
        _console.print_json({"gallery": gallery, "backup": file})
        return
    _console.echo(_console.escape(f"{file}: a copy of {gallery}"))
    _console.note("Note: the copy contains embeddings and names, which are personal data.")
