"""`keras-dml merge GALLERY OTHER`: the people of two galleries in one."""

import contextlib
import zipfile
from typing import Annotated

import typer

from keras_dml.cli import _completion, _options


def run(
    gallery: _options.Gallery,
    other: Annotated[
        str,
        typer.Argument(
            help="Gallery of the same model, which is not changed, or a file of `keras-dml export "
            "GALLERY --to templates`.",
            show_default=False,
            autocompletion=_completion.paths,
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
            autocompletion=_completion.paths,
        ),
    ] = None,
    other_keys: Annotated[
        str | None,
        typer.Option(
            "--other-keys",
            metavar="FILE",
            help="Keys of the people of OTHER, if it is encrypted and on a server.",
            show_default=False,
            autocompletion=_completion.paths,
        ),
    ] = None,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
):
    """Merge the people of another gallery into one, such as those of two phones.

    Recordings that are in both are kept once, and the thresholds stay those of the first.
    Recordings that `keras-dml enroll` would refuse are left out. Merging again, or after it was
    stopped, does no harm.

    Exit status: 0 merged, 2 nothing was done.

    Example: keras-dml merge family.db phone.db
    """
    from keras_dml.cli import _answers, _console, _galleries, _words

    with (
        _console.stoppable("Stopped. Merging again does no harm."),
        _answers.answered(),
        contextlib.ExitStack() as stack,
    ):
        is_file_of_templates = zipfile.is_zipfile(other)
        _galleries.check_exists(gallery)
        if not is_file_of_templates:
            _galleries.check_exists(other)
        opened = stack.enter_context(_galleries.opened(gallery, model, access))
        if is_file_of_templates:
            added = opened.merge(other)
        else:
            with (
                _words.of_commands(_words.OTHER_GALLERY),
                _galleries.opened(
                    other, opened.model, _options.Access(other_key, other_keys)
                ) as second,
            ):
                added = opened.merge(second)
        people = len(opened.people())
    if as_json:
        _console.json_object({"added": added, "people": people})
    elif added:
        _console.table(("person", "recordings added"), list(added.items()))
        _console.echo(f"{people} people enrolled")
    else:
        _console.echo(f"Nothing to add: {people} people enrolled")
