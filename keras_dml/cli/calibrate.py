"""`keras-dml calibrate GALLERY FOLDER`: the threshold for a false accept rate."""

import dataclasses
from typing import Annotated

import typer

from keras_dml.cli import _completion, _options


def _fraction(far):
    """Refuses what is no rate before any file is read."""
    if not 0 < far < 1:
        raise typer.BadParameter(
            f"must be a fraction above 0 and below 1, as 0.01 for 1 %. Received {far:g}."
        )
    return far


def run(
    gallery: _options.Gallery,
    folder: Annotated[
        str,
        typer.Argument(
            help="Recordings of people: FOLDER/PERSON/FILES or FOLDER/PERSON/SESSION/FILES, or a "
            "csv with the columns path, person.",
            show_default=False,
            autocompletion=_completion.paths,
        ),
    ],
    far: Annotated[
        float,
        typer.Option(
            "--far",
            metavar="RATE",
            help="False accept rate of the threshold among these people; with --window, of people "
            "never used, on average.",
            callback=_fraction,
        ),
    ] = 0.01,
    extrapolate: Annotated[
        bool,
        typer.Option(
            "--extrapolate",
            help="Set a stricter threshold than the people support by a model of the lowest "
            "distances: no promise.",
        ),
    ] = False,
    window: Annotated[
        int | None,
        typer.Option(
            "--window",
            metavar="STEPS",
            min=1,
            help="Set the boundary of `keras-dml listen` instead; it first decides after this many "
            "steps.",
            show_default=False,
        ),
    ] = None,
    model: _options.GalleryModel = None,
    channels: _options.Channels = None,
    rate_hz: _options.RateHz = None,
    resample: _options.Resample = False,
    key: _options.Key = None,
    keys: _options.Keys = None,
    as_json: _options.AsJson = False,
):
    """Calibrate a gallery: set the threshold that accepts at most a rate of false claims.

    The rate is that of the people given; the interval printed is that of as many others. Give
    people whom the model has not seen in its training, as many recordings of each as you enroll of
    a person, for the nearest of more is nearer; they are not enrolled by this. A rate that is too
    small for so few people is refused, with the number of people that it would take.

    Of people with several sessions, the true claims of one are measured against the others.

    With --window, recordings are heard as claims that grow: give recordings as long as a claim may
    last.

    Exit status: 0 the threshold is set, 2 it is not.

    Example: keras-dml calibrate family.db volunteers/ --far 0.01
    """
    from keras_dml import recordings
    from keras_dml.cli import _answers, _console, _galleries

    with _answers.answered():
        listing = recordings.folder(folder)
        paths = [one.path for one in listing.recordings]
        with _galleries.opened(gallery, model, may_be_new=True, key=key, keys=keys) as opened:
            reader = _galleries.Reader(opened, channels, rate_hz, resample)
            values, indices, refused = _galleries.taken(reader, paths)
            left_out = [f"{path} is not a recording." for path in listing.skipped]
            for text in [*left_out, *refused.values()]:
                _console.note(_console.plain(f"Left out: {text}"))
            people = [listing.recordings[i].person for i in indices]
            sessions = [listing.recordings[i].session for i in indices]
            if window is None:
                found = opened.calibrate(
                    values, people, far, sessions=sessions, extrapolate=extrapolate
                )
            else:
                found = opened.calibrate_listening(
                    values, people, far, window=window, sessions=sessions
                )
    if as_json:
        _console.json_object({**dataclasses.asdict(found), "left_out": len(refused)})
    else:
        _console.echo(_console.plain(found))
