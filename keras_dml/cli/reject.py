"""`keras-dml reject GALLERY PERSON FILES...`: recordings that are not a person's."""

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
            help=f"Recordings: {format_names()} files, or folders of them. With "
            "--undo: ids of marked recordings.",
            show_default=False,
            autocompletion=_completion.paths,
        ),
    ] = None,
    is_listing: Annotated[
        bool,
        typer.Option("--list", help="List the marked recordings: time and id of each."),
    ] = False,
    is_undoing: Annotated[
        bool, typer.Option("--undo", help="Remove the marks of the recordings of these ids.")
    ] = False,
    options: _options.GalleryOptions = _options.GalleryOptions(),
    as_json: _options.AsJson = False,
):
    """Reject recordings that were taken for a person: they are marked as not this person's.

    What is nearer to them than to the person's own is no longer accepted as this person. All files
    are marked or, if the model does not take one, none. --list lists the marked recordings, and
    --undo removes marks; neither needs the model. `keras-dml remove` forgets what is marked with
    the person.

    Exit status: 0 marked, listed or undone, 2 nothing was done.

    Example: keras-dml reject family.db alice intruder.csv
    """
    files = files or []
    if is_listing and (files or is_undoing):
        raise typer.BadParameter("--list takes neither FILES nor --undo.")
    if not is_listing and not files:
        expected = "the ids of marked recordings" if is_undoing else "FILES of recordings"
        raise typer.BadParameter(f"give {expected}, or --list.")
    if is_listing:
        _list(gallery, person, options.access, as_json=as_json)
        return
    if is_undoing:
        _undo(gallery, person, files, options.access, as_json=as_json)
        return
    from keras_dml.cli import _answers, _console, _galleries

    with _answers.answered():
        needs = {"person": person}
        with _galleries.opened(
            gallery, options.model, options.access, paths=files, needs=needs
        ) as opened:
            recordings, notes = _galleries.observed(opened, files, options.reading)
            opened.reject(person, recordings)
    if as_json:
        _console.json_object({"person": person, "marked": len(recordings), "notes": notes})
    else:
        _console.echo(
            f"{_console.plain(person)}: {len(recordings)} recordings marked as not theirs"
        )


def _list(gallery, person, access, *, as_json):
    """Prints the marked recordings of a person."""
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with _answers.answered():
        stored = galleries.list_rejections(gallery, person, **vars(access))
    if as_json:
        entries = [{"id": each.id, "marked": each.created} for each in stored]
        _console.json_object({"person": person, "marked": entries})
    elif stored:
        _console.table(("id", "marked"), stored)
    else:
        _console.echo("No recording is marked.")


def _undo(gallery, person, ids, access, *, as_json):
    """Removes the marks of recordings of a person."""
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with _answers.answered():
        galleries.unreject(gallery, person, ids, **vars(access))
        left = len(galleries.list_rejections(gallery, person, **vars(access)))
    ids = list(dict.fromkeys(ids))
    if as_json:
        _console.json_object({"person": person, "undone": ids, "marked": left})
    else:
        _console.echo(_console.plain(f"{person}: {len(ids)} marks removed, {left} left"))
