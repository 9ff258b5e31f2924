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
    model: _options.GalleryModel = None,
    channels: _options.Channels = None,
    rate_hz: _options.RateHz = None,
    resample: _options.Resample = None,
    time: _options.Time = None,
    time_unit: _options.TimeUnit = None,
    max_gap: _options.MaxGap = None,
    key: _options.Key = None,
    keys: _options.Keys = None,
    distances: _options.Distances = False,
    as_json: _options.AsJson = False,
):
    """Identify the person of recordings: the nearest one enrolled, or a stranger.

    Several files are of one moment and decided on together. People are listed by closeness: 100 is
    as close as the same recording, 0 as far as other people usually are. If nobody is close enough
    for the threshold, it is a stranger.

    Until `keras-dml calibrate` sets a threshold, that of the model's card decides, which is
    provisional; without one the nearest people are listed and nothing is decided.

    With n people enrolled a stranger is taken for one of them up to n times as often as the
    threshold's rate says (FPIR). Somebody who is enrolled may be taken for a stranger, or for
    somebody else. If two people are equally near, as when one recording is enrolled as both, there
    is no decision.

    Exit status: 0 somebody who is enrolled, 1 a stranger, 2 no decision.

    Example: keras-dml identify family.db new.csv
    """
    from keras_dml.cli import _answers, _console, _galleries

    reading = _options.Reading(channels, rate_hz, resample, time, time_unit, max_gap)
    with _answers.answered():
        needs = _galleries.needs(far=far, threshold=threshold, may_rank=True)
        with _galleries.opened(
            gallery, model, key=key, keys=keys, paths=files, needs=needs
        ) as opened:
            recordings, notes = _galleries.observed(opened, files, reading)
            found = opened.identify(recordings, top, far=far, threshold=threshold)
    if as_json:
        candidates = [
            {
                "person": one.person,
                "score": _answers.number(one.score),
                "closeness": found.closeness(one),
            }
            for one in found.candidates
        ]
        _console.json_object(
            {
                "person": found.person,
                "tied": list(found.tied),
                "candidates": candidates,
                "threshold": _answers.number(found.threshold),
                "people": found.people,
                "fpir": found.fpir,
                "far": found.far,
                "extrapolated": found.extrapolated,
                "provisional": found.provisional,
                "notes": notes,
            }
        )
    else:
        _console.echo(f"[bold]{_console.plain(found.answer)}[/bold]")
        by_distance = distances or found.scale is None
        rows = [
            (one.person, f"{one.score:.4g}" if by_distance else f"{found.closeness(one):.1f}")
            for one in found.candidates
        ]
        _console.table(("nearest", "distance" if by_distance else "closeness of 100"), rows)
        rates = found.rates or f"{found.people} people enrolled"
        _console.echo(", ".join(filter(None, [found.limit(distances), rates])))
    if found.tied or found.threshold is None:
        raise typer.Exit(_statuses.ERROR)
    _statuses.answer(found.person is not None)
