"""`keras-dml listen GALLERY PERSON FILE`: decides on a claim as soon as it can be."""

import contextlib
from typing import Annotated

import typer

from keras_dml.cli import _completion, _options, _statuses


def run(
    gallery: _options.Gallery,
    person: _options.Person,
    file: Annotated[
        str,
        typer.Argument(
            help="A recording; with --follow a csv that is being written.",
            show_default=False,
            autocompletion=_completion.paths,
        ),
    ],
    follow: Annotated[
        float | None,
        typer.Option(
            "--follow",
            metavar="SECONDS",
            min=0.0,
            help="Wait for more lines, at most this long for the next one.",
            show_default="do not wait",
        ),
    ] = None,
    far: _options.Far = None,
    options: _options.GalleryOptions = _options.GalleryOptions(),
    scores: _options.Scores = False,
    as_json: _options.AsJson = False,
):
    """Listen to a recording until it is decided whether it is a person's.

    The false match rate is at most that of the boundary at whatever moment it stops, on average
    over the people that it is set on. `keras-dml calibrate --window SECONDS` sets the boundary.
    The rate holds for one recording, even if its parts are repeated or played in another order. It
    does not hold for the best of several recordings, for a recording that is changed until it is
    accepted, or for a replay of the person.

    A recording that ends undecided counts as a rejected claim, see `keras-dml verify`.

    Exit status: 0 accepted, 1 rejected, 2 not decided when the recording ended, a pause or an
    error.

    Example: keras-dml listen family.db alice walk.csv --follow 5
    """
    from keras_dml.cli import _answers, _console, _galleries, _growing

    needs = {
        "person": person,
        "far": far,
        "decides_by": "boundary",
        "client": _galleries.CLIENT,
    }
    with _answers.answered(), contextlib.ExitStack() as stack:
        opened = stack.enter_context(
            _galleries.opened(
                gallery,
                options.model,
                options.access,
                paths=[file] if follow is None else None,
                needs=needs,
            )
        )
        reader = _galleries.Reader(opened, options.reading)
        listening = opened.listen(person, far=far)
        window = listening.boundary.window
        for chunk in _growing.chunks(reader.beginning, file, follow, window):
            if listening.add(chunk).accepted is not None:
                break
        reader.say()
        heard = listening.heard
        if heard.accepted is None:
            raise ValueError(
                f"{file} ended undecided: {heard.in_words(scores)}. Give a longer recording, of up "
                f"to {reader.duration(window * listening.boundary.windows)}."
            )
    if as_json:
        fields = {name: getattr(heard, name) for name in ("accepted", "person", "steps", "seconds")}
        if scores:
            fields |= {
                "score": _answers.score(heard.score),
                "closeness": _answers.score(heard.closeness),
                "threshold": _answers.score(heard.threshold),
                "denied": heard.denied,
            }
        _console.json_object({**fields, "notes": reader.notes})
    else:
        _console.echo(_console.plain(heard.in_words(scores)))
        if scores and heard.scale is not None:
            _console.echo(f"distance {heard.score:.4g}, threshold {heard.threshold:.4g}")
    _statuses.answer(heard.accepted)
