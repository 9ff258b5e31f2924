"""Implements the command `keras-dml restore FILE GALLERY`, which restores a gallery from backup."""

from typing import Annotated

import typer

from keras_dml.cli import _completion, _options


def run(
    file: Annotated[
        str,
        typer.Argument(
            help="File that `keras-dml backup` wrote.",
            show_default=False,
            autocompletion=_completion.complete_paths,
        ),
    ],
    gallery: _options.Gallery,
    replace: _options.Replace = False,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
) -> None:
    """Restore a gallery from a backup that `keras-dml backup` wrote.

    The command needs no model, and does not change the backup. An encrypted gallery needs its key.
    Without the key, a restored encrypted gallery is refused later, because it looks like an old
    copy that an attacker has put in place. Use --replace to replace an existing gallery in one
    step. People and thresholds that were added after the backup are then lost, and people who were
    removed after the backup are enrolled again.

    Exit status: 0 if the gallery is restored, 2 if nothing is changed.

    Example: keras-dml restore family-backup.db family.db
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with (
        _console.stoppable(f"Stopped. {gallery} is not changed. Run the command again."),
        _answers.spell_messages(),
    ):
        galleries.restore(file, gallery, replace=replace, **vars(access))
    if as_json:
        _console.print_json({"backup": file, "gallery": gallery})
        return
    _console.echo(_console.escape(f"{gallery}: restored from {file}"))
