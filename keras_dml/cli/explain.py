"""Implements the command `keras-dml explain GALLERY PERSON FILE`, which explains the distance to a
person.
"""

import contextlib
from typing import Annotated

import typer

from keras_dml.cli import _completion, _options


def run(
    gallery: _options.Gallery,
    person: _options.Person,
    file: Annotated[
        str,
        typer.Argument(
            help="A recording.", show_default=False, autocompletion=_completion.complete_paths
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="PATH",
            help="Draw a picture into the files PATH.svg and PATH.png.",
            show_default=False,
            autocompletion=_completion.complete_paths,
        ),
    ] = None,
    options: _options.GalleryOptions = _options.GalleryOptions(),
    as_json: _options.AsJson = False,
) -> None:
    """Explain how much each part and channel of a recording adds to its distance to a person.

    The command leaves out one part or one channel at a time and computes the distance again. With
    --engine keras, the distance of quantile embeddings and of covariances is instead divided into a
    sum over parts and channels.

    An explanation reveals as much as the enrolled embedding, so it is personal data.

    Exit status: 0 if the distance is explained, 2 if not.

    Example: keras-dml explain family.db alice new.csv --out why
    """
    from keras_dml.cli import _answers, _console, _extras, _galleries

    if out is not None:
        _extras.require_pictures()
    needs = {"person": person}
    with _answers.spell_messages(), contextlib.ExitStack() as stack:
        opened_gallery = stack.enter_context(
            _galleries.open_gallery(
                gallery,
                options.model,
                options.access,
                engine=options.engine,
                paths=[file],
                needs=needs,
            )
        )
        reader = _galleries.Reader(opened_gallery, options.reading)
        recording, *further_windows = reader.read(file)
        reader.print_notes()
        if further_windows:
            _console.note(
                "Note: the recording is longer than a window. Only its first window is explained."
            )
        explanation = opened_gallery.explain(person, recording)
        paths = [] if out is None else _draw(explanation, out)
    if as_json:
        _console.print_json(
            {
                "distance": explanation.distance,
                "moments": [vars(moment) for moment in explanation.moments],
                "alike": [vars(moment) for moment in explanation.alike],
                "channels": explanation.channels,
                "regions": explanation.regions,
                "by_removal": explanation.by_removal,
                "parts": explanation.largest(None),
                "meaning": explanation.meaning,
                "written": paths,
                "notes": reader.notes,
            }
        )
        return
    _console.echo(_console.escape_lines(explanation))
    for path in paths:
        _console.echo(f"written: {_console.escape(path)}")


def _draw(explanation, out):
    from keras_dml import reports

    return [str(path) for path in reports.save(reports.explanation(explanation), out)]
