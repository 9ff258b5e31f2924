"""Implements the command `keras-dml reject GALLERY PERSON FILES...`, which stores recordings of
imposters.
"""

from typing import Annotated

import typer

from keras_dml.cli import _completion, _options
from keras_dml.recordings import format_names


def run(
    gallery: _options.Gallery,
    person: _options.Person,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"Recordings in {format_names()} files, or folders with recordings. With --undo, "
            "ids of imposter recordings.",
            show_default=False,
            autocompletion=_completion.complete_paths,
        ),
    ] = None,
    is_listing: Annotated[
        bool,
        typer.Option("--list", help="List the imposter recordings, with id and time."),
    ] = False,
    is_undoing: Annotated[
        bool, typer.Option("--undo", help="Remove the imposter recordings with these ids.")
    ] = False,
    options: _options.GalleryOptions = _options.GalleryOptions(),
    as_json: _options.AsJson = False,
) -> None:
    """Store recordings of other people that were falsely accepted as a person.

    Later, a recording is rejected if it is nearer to a stored imposter recording than to the
    person's enrolled recordings. If the model does not accept one of the files, no file is stored.
    Use --list to list the imposter recordings, and --undo to remove some of them. Both options work
    without a model. `keras-dml remove` also removes the imposter recordings of a person.

    Exit status: 0 if recordings are stored, listed or removed, 2 if nothing is changed.

    Example: keras-dml reject family.db alice intruder.csv
    """
    files = files or []
    if is_listing and (files or is_undoing):
        raise typer.BadParameter("--list cannot be combined with FILES or --undo.")
    if not is_listing and not files:
        expected = "the ids of marked recordings" if is_undoing else "FILES of recordings"
        raise typer.BadParameter(f"Give either {expected} or --list.")
    if is_listing:
        _list(gallery, person, options.access, as_json=as_json)
        return
    if is_undoing:
        _undo(gallery, person, files, options.access, as_json=as_json)
        return
    from keras_dml import _figures
    from keras_dml.cli import _answers, _console, _galleries

    with _answers.spell_messages():
        needs = {"person": person}
        with _galleries.open_gallery(
            gallery, options.model, options.access, engine=options.engine, paths=files, needs=needs
        ) as opened_gallery:
            recordings, notes = _galleries.read_probe(opened_gallery, files, options.reading)
            opened_gallery.reject(person, recordings)
    if as_json:
        _console.print_json({"person": person, "marked": len(recordings), "notes": notes})
    else:
        stored = _figures.counted(len(recordings), "recording")
        _console.echo(f"{_console.escape(person)}: {stored} stored as imposters")


def _list(gallery, person, access, *, as_json):
    """Lists the imposter recordings that are stored for a person."""
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with _answers.spell_messages():
        stored = galleries.list_rejections(gallery, person, **vars(access))
    if as_json:
        entries = [{"id": each.id, "marked": each.created} for each in stored]
        _console.print_json({"person": person, "marked": entries})
    elif stored:
        _console.print_table(("id", "stored"), [(each.id, each.created) for each in stored])
    else:
        _console.echo("No imposter recording is stored.")


def _undo(gallery, person, ids, access, *, as_json):
    """Removes stored imposter recordings of a person."""
    from keras_dml import _figures
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with _answers.spell_messages():
        galleries.unreject(gallery, person, ids, **vars(access))
        left = len(galleries.list_rejections(gallery, person, **vars(access)))
    ids = list(dict.fromkeys(ids))
    if as_json:
        _console.print_json({"person": person, "undone": ids, "marked": left})
    else:
        removed = _figures.counted(len(ids), "imposter recording")
        text = f"{person}: {removed} removed, {left} left"
        _console.echo(_console.escape(text))
