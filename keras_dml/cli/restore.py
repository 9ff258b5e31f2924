"""`keras-dml restore FILE GALLERY`: a gallery from its copy."""

from typing import Annotated

import typer

from keras_dml.cli import _completion, _options


def run(
    file: Annotated[
        str,
        typer.Argument(
            help="A copy that `keras-dml backup` wrote.",
            show_default=False,
            autocompletion=_completion.paths,
        ),
    ],
    gallery: _options.Gallery,
    replace: _options.Replace = False,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
):
    """Make a gallery from a copy that `keras-dml backup` wrote.

    It needs no model, and the copy stays as it is. An encrypted gallery needs its key: otherwise it
    is taken for an old copy that somebody has put back, and refused. --replace replaces an existing
    gallery at one moment. People and thresholds that were added after the backup are lost then, and
    people who were removed after it are enrolled again.

    Exit status: 0 restored, 2 nothing was changed.

    Example: keras-dml restore family-backup.db family.db
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with (
        _console.stoppable(f"Stopped; {gallery} is as it was. Run the command again."),
        _answers.answered(),
    ):
        galleries.restore(file, gallery, replace=replace, **vars(access))
    if as_json:
        _console.json_object({"backup": file, "gallery": gallery})
        return
    _console.echo(_console.plain(f"{gallery}: restored from {file}"))
