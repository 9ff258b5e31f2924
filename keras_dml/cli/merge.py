"""Implements the command `keras-dml merge GALLERY OTHER`, which adds people of another gallery."""

import contextlib
import zipfile
from typing import Annotated

import typer

from keras_dml.cli import _completion, _options

NAMES_OF_OTHER = _options.GALLERY_NAMES | {"key": "--other-key", "keys": "--other-keys"}


def run(
    gallery: _options.Gallery,
    other: Annotated[
        str,
        typer.Argument(
            help="Gallery with the same model, or a file written by `keras-dml export GALLERY --to "
            "templates`. OTHER is not changed.",
            show_default=False,
            autocompletion=_completion.complete_paths,
        ),
    ],
    model: _options.GalleryModel = None,
    other_key: Annotated[
        str | None,
        typer.Option(
            "--other-key",
            metavar="FILE",
            help="Key of OTHER.",
            show_default=False,
            autocompletion=_completion.complete_paths,
        ),
    ] = None,
    other_keys: Annotated[
        str | None,
        typer.Option(
            "--other-keys",
            metavar="FILE",
            help="File with the keys of the people in OTHER. Only an encrypted gallery on a server "
            "needs this file.",
            show_default=False,
            autocompletion=_completion.complete_paths,
        ),
    ] = None,
    access: _options.Access = _options.Access(),
    engine: _options.Engine = None,
    as_json: _options.AsJson = False,
) -> None:
    """Add the people of another gallery, for example from a second phone, to a gallery.

    Recordings that are in both galleries are stored once. GALLERY keeps its thresholds. Recordings
    that `keras-dml enroll` would refuse are left out. The command can be repeated at any time, even
    after Ctrl-C.

    Exit status: 0 if the galleries are merged, 2 if nothing is changed.

    Example: keras-dml merge family.db phone.db
    """
    from keras_dml import _figures
    from keras_dml.cli import _answers, _console, _galleries

    with (
        _console.stoppable("Stopped. Run the command again to finish."),
        _answers.spell_messages(),
        contextlib.ExitStack() as stack,
    ):
        is_file_of_templates = zipfile.is_zipfile(other)
        _galleries.check_exists(gallery)
        if not is_file_of_templates:
            _galleries.check_exists(other)
        opened_gallery = stack.enter_context(
            _galleries.open_gallery(gallery, model, access, engine=engine)
        )
        if is_file_of_templates:
            added = opened_gallery.merge(other)
        else:
            with (
                _answers.spell_errors(NAMES_OF_OTHER),
                _galleries.open_gallery(
                    other, opened_gallery.model, _options.Access(other_key, other_keys)
                ) as second,
            ):
                added = opened_gallery.merge(second)
        people = len(opened_gallery.people())
    enrolled = _figures.counted(people, "person", "people")
    if as_json:
        _console.print_json({"added": added, "people": people})
    elif added:
        _console.print_table(("person", "recordings added"), list(added.items()))
        _console.echo(f"{enrolled} enrolled")
    else:
        _console.echo(f"No new recordings: {enrolled} enrolled")
