"""`keras-dml calibrate GALLERY FOLDER`: the threshold for a false accept rate."""

import dataclasses
import math
from typing import Annotated

import typer

from keras_dml.cli import _completion, _options

MOST_LEFT_OUT = 3  # files whose reasons are printed if none is used: it is often one reason


def _fraction(far):
    """Refuses what is no rate before any file is read."""
    if far is not None and not 0 < far < 1:
        raise typer.BadParameter(
            f"must be a fraction above 0 and below 1, as 0.01 for 1 %. Received {far:g}."
        )
    return far


def _positive(seconds):
    """Refuses a time that is not positive before any file is read."""
    if seconds is not None and not 0 < seconds < math.inf:
        raise typer.BadParameter(f"must be a positive number of seconds. Received {seconds:g}.")
    return seconds


def run(
    gallery: _options.Gallery,
    folder: Annotated[
        str | None,
        typer.Argument(
            help="Recordings of people: FOLDER/PERSON/FILES or FOLDER/PERSON/SESSION/FILES, or a "
            "csv with the columns path, person.",
            show_default=False,
            autocompletion=_completion.paths,
        ),
    ] = None,
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
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups",
            metavar="FILE",
            help="Group of each person, such as of age or sensor, to tell the rate within each: a "
            "csv with the columns person, group.",
            show_default=False,
            autocompletion=_completion.paths,
        ),
    ] = None,
    window: Annotated[
        float | None,
        typer.Option(
            "--window",
            metavar="SECONDS",
            help="Set the boundary of `keras-dml listen`, which first decides after this time.",
            show_default=False,
            callback=_positive,
        ),
    ] = None,
    remove: Annotated[
        float | None,
        typer.Option(
            "--remove",
            metavar="RATE",
            help="Remove the threshold of a rate, in the place of FOLDER.",
            show_default=False,
            callback=_fraction,
        ),
    ] = None,
    options: _options.GalleryOptions = _options.GalleryOptions(),
    as_json: _options.AsJson = False,
):
    """Calibrate a gallery: set the threshold that accepts at most a rate of false claims.

    The rate is that of the people given; the interval printed is that of as many others. Give
    people whom the model has not seen in its training, as many recordings of each as you enroll of
    a person, for the nearest of more is nearer; they are not enrolled by this.

    If five people or more are too few for a rate of 10, 5 or 1 %, the threshold of the model's card
    is moved to their distances: about nine of ten groups of people keep the rate. Any other rate
    that is too small for so few people is refused, with the number of people that it would take.

    Of people with several sessions, the true claims of one are measured against the others. With
    --groups, the rate at which people of a group are taken for each other is told with its
    interval; the threshold is one for all.

    With --window, recordings are heard as claims that grow: give recordings as long as a claim may
    last.

    A gallery keeps a threshold for each rate. The smallest rate decides where no --far is given,
    also one that was extrapolated, which each decision says; --remove takes one away.

    Exit status: 0 the threshold is set or removed, 2 it is not.

    Example: keras-dml calibrate family.db volunteers/ --far 0.01
    """
    if (folder is None) == (remove is None):
        raise typer.BadParameter("give either FOLDER, to set a threshold, or --remove RATE.")
    if remove is not None:
        if extrapolate or groups is not None or window is not None:
            raise typer.BadParameter(
                "--remove takes a threshold away: no --extrapolate, --groups or --window."
            )
        _remove(gallery, remove, options.access, as_json=as_json)
        return
    if groups is not None and window is not None:
        raise typer.BadParameter("--groups tells rates of a threshold; --window sets none.")
    from keras_dml import recordings
    from keras_dml.cli import _answers, _console, _galleries

    with _answers.answered():
        listing = recordings.folder(folder)
        group_of = None if groups is None else _group_of(groups, folder, listing.people)
        paths = [one.path for one in listing.recordings]
        with _galleries.opened(gallery, options.model, options.access, may_be_new=True) as opened:
            reader = _galleries.Reader(opened, options.reading)
            values, indices, refused = _galleries.taken(reader, paths)
            left_out = [f"{path} is not a recording." for path in listing.skipped]
            _note_left_out([*left_out, *refused.values()], any_used=bool(values))
            if not values:
                reason = next(iter(refused.values()))
                raise ValueError(
                    f"The model takes none of the {len(paths)} files in {folder}. {reason}"
                )
            people = [listing.recordings[i].person for i in indices]
            sessions = [listing.recordings[i].session for i in indices]
            before = opened.deciding
            if window is None:
                found = opened.calibrate(
                    values,
                    people,
                    far,
                    sessions=sessions,
                    groups=group_of,
                    extrapolate=extrapolate,
                )
            else:
                steps = reader.steps(window)
                for i, recording in zip(indices, values, strict=True):
                    if len(recording) < steps:
                        raise ValueError(
                            f"{paths[i]} lasts {reader.duration(len(recording))}, less than "
                            f"--window {window:g}. Leave it out, or give a shorter --window."
                        )
                found = opened.calibrate_listening(
                    values, people, far, window=steps, sessions=sessions
                )
    if as_json:
        answer = {**dataclasses.asdict(found), "left_out": len(refused), "notes": reader.notes}
        if window is None:
            answer["groups"] = [group._asdict() for group in found.groups]
        _console.json_object(answer)
    else:
        _console.echo(_console.plain_lines(found))
    is_first = window is None and before is not None and before.provisional
    if is_first and found.value > before.value:
        _console.note(
            "Decisions are less strict now: this threshold decides if no --far is given. Until now "
            f"the card's for FAR {100 * before.far:g} % did, which accepts smaller distances only. "
            "A smaller --far is stricter."
        )


def _note_left_out(reasons, *, any_used):
    """Prints why files were left out: all reasons, or the first ones if no file was used."""
    from keras_dml.cli import _console

    shown = reasons if any_used else reasons[:MOST_LEFT_OUT]
    for reason in shown:
        _console.note(_console.plain(f"Left out: {reason}"))
    if len(shown) < len(reasons):
        _console.note(f"Left out: {len(reasons) - len(shown)} more files.")


def _remove(path, far, access, *, as_json):
    """Removes the threshold of a rate, and says which one decides now."""
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console, _galleries, _words

    with _answers.answered(), _words.of_commands({"`far`": "--remove"}):
        _galleries.check_exists(path)
        galleries.remove_threshold(path, far, **vars(access))
        left = list(galleries.thresholds(path, **vars(access)))
    if as_json:
        _console.json_object({"removed": far, "left": left})
        return
    now = f"without --far, FAR {100 * min(left):g} % decides" if left else "none is left"
    _console.echo(f"threshold for FAR {100 * far:g} % removed; {now}")


def _group_of(path, folder, people):
    """Groups of the people of a folder by a table, which names each of them and nobody else."""
    from keras_dml import recordings

    found = recordings.groups(path)
    if missing := [name for name in people if name not in found]:
        raise ValueError(
            f"{path} names no group of {len(missing)} of the {len(people)} people in {folder}, "
            f"such as {missing[0]!r}. Write a line for each."
        )
    if unknown := [name for name in found if name not in people]:
        raise ValueError(
            f"{path} names {len(unknown)} people of whom {folder} holds no recordings, such as "
            f"{unknown[0]!r}. Write the names as there, or take these lines out."
        )
    return found
