"""`keras-dml identify GALLERY FILES...`: who is it, or a stranger?"""

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
):
    """Identify the person of recordings: the nearest one enrolled, or a stranger.

    Several files are of one moment and decided on together. If nobody is close enough for the
    threshold, it is a stranger. --scores lists the nearest people by closeness: 100 is as close as
    the same recording, 0 as far as other people usually are.

    Until `keras-dml calibrate` sets a threshold, that of the model's card decides, which is
    provisional; without one the nearest people are listed and nothing is decided.

    With n people enrolled a stranger is taken for one of them up to n times as often as the
    threshold's rate says (FPIR). Somebody who is enrolled may be taken for a stranger, or for
    somebody else. If two people are equally near, as when one recording is enrolled as both, there
    is no decision. A stranger counts as a rejected claim of the nearest person, see `keras-dml
    verify`.

    Exit status: 0 somebody who is enrolled, 1 a stranger, 2 no decision or a pause.

    Example: keras-dml identify family.db new.csv
    """
    from keras_dml.cli import _answers, _console, _galleries

    with _answers.answered():
        needs = _galleries.needs(far=far, threshold=threshold, may_rank=True)
        with _galleries.opened(
            gallery, options.model, options.access, paths=files, needs=needs
        ) as opened:
            recordings, notes = _galleries.observed(opened, files, options.reading)
            found = opened.identify(recordings, top, far=far, threshold=threshold)
    scores = scores or distances
    if as_json:
        names = ("person", "people", "fpir", "far", "extrapolated", "provisional")
        fields = {name: getattr(found, name) for name in names} | {"tied": list(found.tied)}
        if scores or found.threshold is None:
            fields["candidates"] = [_candidate(found, one, scores) for one in found.candidates]
        if scores:
            fields["threshold"] = _answers.score(found.threshold)
        _console.json_object({**fields, "notes": notes})
    else:
        _console.echo(f"[bold]{_console.plain(found.answer)}[/bold]")
        if scores or found.threshold is None:
            _show_candidates(found, scores, distances)
        rates = found.rates or f"{found.people} people enrolled"
        _console.echo(", ".join(filter(None, [found.limit(distances), rates])))
    if found.tied or found.threshold is None:
        raise typer.Exit(_statuses.ERROR)
    _statuses.answer(found.person is not None)


def _candidate(found, candidate, scores):
    """Returns the fields of a candidate that programs get.

    Args:
        found: `Identification`.
        candidate: `Candidate`.
        scores: Whether to say how close the recordings are to the person's.
    """
    from keras_dml.cli import _answers

    if not scores:
        return {"person": candidate.person}
    return {
        "person": candidate.person,
        "score": _answers.score(candidate.score),
        "closeness": _answers.score(found.closeness(candidate)),
    }


def _show_candidates(found, scores, distances):
    """Prints the nearest people, nearest first.

    Args:
        found: `Identification`.
        scores: Whether to print how close the recordings are to each person's.
        distances: Whether to print distances in the place of closeness.
    """
    from keras_dml.cli import _console

    if not scores:
        _console.table(("nearest",), [(one.person,) for one in found.candidates])
    elif distances or found.scale is None:
        rows = [(one.person, f"{one.score:.4g}") for one in found.candidates]
        _console.table(("nearest", "distance"), rows)
    else:
        rows = [
            (one.person, f"{found.closeness(one):.1f}", f"{one.score:.4g}")
            for one in found.candidates
        ]
        _console.table(("nearest", "closeness of 100", "distance"), rows)
