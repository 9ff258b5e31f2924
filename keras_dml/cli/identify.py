"""Implements the command `keras-dml identify GALLERY FILES...`, which identifies a person."""

from typing import Annotated

import typer

from keras_dml.cli import _options, _statuses


def run(
    gallery: _options.Gallery,
    files: _options.Files,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of nearest people to show.")] = 5,
    far: _options.Far = None,
    threshold: _options.Threshold = None,
    options: _options.GalleryOptions = _options.GalleryOptions(),
    scores: _options.Scores = False,
    distances: _options.Distances = False,
    as_json: _options.AsJson = False,
) -> None:
    """Find the enrolled person of a recording, or decide that it is from a stranger.

    If several files are given, they must contain recordings that were made at the same time. The
    command makes one decision for all files together. If no distance is within the threshold, the
    command decides that the recording is from a stranger. With --scores, the command lists the
    nearest people with their closeness, which is 100 for identical recordings and 0 for the usual
    distance between two people.

    Until `keras-dml calibrate` sets a threshold, the command uses the provisional threshold of the
    model's card. Without such a threshold it lists the nearest people and does not decide.

    If n people are enrolled, the rate at which strangers are mistaken for an enrolled person (FPIR)
    is up to n times the false accept rate of the threshold. An enrolled person may also be mistaken
    for a stranger or for another person. If two people are about equally near, the command does not
    decide. `keras-dml calibrate` computes how much the distances must differ. If the command
    decides for a stranger, this decision counts as a rejected claim to be the nearest person (see
    `keras-dml verify`).

    Exit status: 0 if an enrolled person is found, 1 for a stranger, 2 without a decision, such as
    during a pause.

    Example: keras-dml identify family.db new.csv
    """
    from keras_dml import _figures
    from keras_dml.cli import _answers, _console, _galleries

    with _answers.spell_messages():
        needs = _galleries.decision_requirements(far=far, threshold=threshold, may_rank=True)
        with _galleries.open_gallery(
            gallery, options.model, options.access, engine=options.engine, paths=files, needs=needs
        ) as opened_gallery:
            recordings, notes = _galleries.read_probe(opened_gallery, files, options.reading)
            result = opened_gallery.identify(recordings, top, far=far, threshold=threshold)
    scores = scores or distances
    if as_json:
        names = ("person", "people", "fpir", "far", "extrapolated", "provisional")
        fields = {name: getattr(result, name) for name in names} | {"tied": list(result.tied)}
        if scores or result.threshold is None:
            fields["candidates"] = [_candidate(result, c, scores) for c in result.candidates]
        if scores:
            fields["threshold"] = _answers.round_score(result.threshold)
        _console.print_json({**fields, "notes": notes})
    else:
        _console.echo(f"[bold]{_console.escape(result.answer)}[/bold]")
        if scores or result.threshold is None:
            _show_candidates(result, scores, distances)
        people = _figures.counted(result.people, "person", "people")
        rates = result.rates or f"{people} enrolled"
        _console.echo(", ".join(filter(None, [result.limit(distances), rates])))
    if result.tied or result.threshold is None:
        raise typer.Exit(_statuses.ERROR)
    _statuses.exit_with_answer(result.person is not None)


def _candidate(result, candidate, scores):
    """Converts a candidate to an object for JSON.

    Args:
        result: The `Identification` that contains the candidate.
        candidate: The `Candidate` to convert.
        scores: Whether the object contains score and closeness.
    """
    from keras_dml.cli import _answers

    if not scores:
        return {"person": candidate.person}
    return {
        "person": candidate.person,
        "score": _answers.round_score(candidate.score),
        "closeness": _answers.round_score(result.closeness(candidate)),
    }


def _show_candidates(result, scores, distances):
    """Prints the nearest people, the nearest person first.

    Args:
        result: The `Identification` to print.
        scores: Whether closeness and distances are printed.
        distances: Whether distances are printed without closeness.
    """
    from keras_dml.cli import _console

    if not scores:
        _console.print_table(("nearest",), [(c.person,) for c in result.candidates])
    elif distances or result.scale is None:
        rows = [(c.person, f"{c.score:.4g}") for c in result.candidates]
        _console.print_table(("nearest", "distance"), rows)
    else:
        rows = [
            (c.person, f"{result.closeness(c):.1f}", f"{c.score:.4g}") for c in result.candidates
        ]
        _console.print_table(("nearest", "closeness of 100", "distance"), rows)
