"""Implements the command `keras-dml listen GALLERY PERSON FILE`, which decides on a claim as early
as possible.
"""

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
            help="File of a recording. With --follow, a csv file that is still being written.",
            show_default=False,
            autocompletion=_completion.complete_paths,
        ),
    ],
    follow: Annotated[
        float | None,
        typer.Option(
            "--follow",
            metavar="SECONDS",
            min=0.0,
            help="The recording ends if no new line arrives for this number of seconds.",
            show_default="do not wait",
        ),
    ] = None,
    far: _options.Far = None,
    options: _options.GalleryOptions = _options.GalleryOptions(),
    scores: _options.Scores = False,
    as_json: _options.AsJson = False,
) -> None:
    """Verify a claimed person as early as possible, while the recording is still being made.

    The command uses a threshold that `keras-dml calibrate --window SECONDS` sets for a false match
    rate. This rate holds no matter how early the command decides. The false match rate is an
    average over all groups of people on whom the threshold could have been set. Repeating or
    reordering parts of a recording does not raise the rate. The rate is higher if an imposter tries
    several recordings, changes a recording until it is accepted, or replays a recording of the
    person.

    If the recording ends before a decision, the claim counts as rejected (see `keras-dml verify`).

    Exit status: 0 if accepted, 1 if rejected, 2 without a decision, such as during a pause.

    Example: keras-dml listen family.db alice walk.csv --follow 5
    """
    from keras_dml.cli import _answers, _console, _galleries, _growing

    needs = {
        "person": person,
        "far": far,
        "decides_by": "boundary",
        "client": _galleries.CLIENT,
    }
    with _answers.spell_messages(), contextlib.ExitStack() as stack:
        opened_gallery = stack.enter_context(
            _galleries.open_gallery(
                gallery,
                options.model,
                options.access,
                engine=options.engine,
                paths=[file] if follow is None else None,
                needs=needs,
            )
        )
        reader = _galleries.Reader(opened_gallery, options.reading)
        listening = opened_gallery.listen(person, far=far)
        window = listening.boundary.window
        for chunk in _growing.read_chunks(reader.beginning, file, follow, window):
            if listening.add(chunk).accepted is not None:
                break
        reader.print_notes()
        state = listening.heard
        if state.accepted is None:
            raise ValueError(
                f"{file} ended before a decision: {state.in_words(scores)}. Give a longer "
                f"recording, of up to {reader.duration(window * listening.boundary.windows)}."
            )
    if as_json:
        fields = {name: getattr(state, name) for name in ("accepted", "person", "steps", "seconds")}
        if scores:
            fields |= {
                "score": _answers.round_score(state.score),
                "closeness": _answers.round_score(state.closeness),
                "threshold": _answers.round_score(state.threshold),
                "denied": state.denied,
            }
        _console.print_json({**fields, "notes": reader.notes})
    else:
        _console.echo(_console.escape(state.in_words(scores)))
        if scores and state.scale is not None:
            _console.echo(f"distance {state.score:.4g}, threshold {state.threshold:.4g}")
    _statuses.exit_with_answer(state.accepted)
