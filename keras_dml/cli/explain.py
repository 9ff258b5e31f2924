"""`keras-dml explain GALLERY PERSON FILE`: why a recording is near to a person, or far."""

import contextlib
from typing import Annotated

import typer

from keras_dml.cli import _completion, _options


def run(
    gallery: _options.Gallery,
    person: _options.Person,
    file: Annotated[
        str,
        typer.Argument(help="A recording.", show_default=False, autocompletion=_completion.paths),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="PATH",
            help="Picture to write, PATH.svg and PATH.png.",
            show_default=False,
            autocompletion=_completion.paths,
        ),
    ] = None,
    options: _options.GalleryOptions = _options.GalleryOptions(),
    as_json: _options.AsJson = False,
):
    """Explain the distance of a recording to a person: by the moments of the recording and by its
    channels.

    Distances of quantile embeddings and of covariances are sums of such parts. For all other models
    the distance is computed again without each moment and without each channel.

    An explanation reveals as much as the enrolled embedding itself: it is personal data.

    Exit status: 0 explained, 2 not.

    Example: keras-dml explain family.db alice new.csv --out why
    """
    from keras_dml.cli import _answers, _console, _galleries

    needs = {"person": person}
    with _answers.answered(), contextlib.ExitStack() as stack:
        opened = stack.enter_context(
            _galleries.opened(gallery, options.model, options.access, paths=[file], needs=needs)
        )
        reader = _galleries.Reader(opened, options.reading)
        recording, *others = reader.read(file)
        reader.say()
        if others:
            _console.note("Note: of a longer recording the first window is explained.")
        found = opened.explain(person, recording)
        written = [] if out is None else _draw(found, out)
    if as_json:
        _console.json_object(
            {
                "distance": found.distance,
                "moments": [vars(moment) for moment in found.moments],
                "alike": [vars(moment) for moment in found.alike],
                "channels": found.channels,
                "regions": found.regions,
                "by_removal": found.by_removal,
                "parts": found.largest(None),
                "meaning": found.meaning,
                "written": written,
                "notes": reader.notes,
            }
        )
        return
    _console.echo(_console.plain_lines(found))
    for path in written:
        _console.echo(f"written: {_console.plain(path)}")


def _draw(found, out):
    from keras_dml import reports

    return [str(path) for path in reports.save(reports.explanation(found), out)]
