"""Implements the command `keras-dml calibrate GALLERY FOLDER`, which sets the threshold for a false
accept rate.
"""

import dataclasses
import math
from typing import Annotated

import typer

from keras_dml.cli import _completion, _options


def _check_fraction(far):
    """Checks a rate before any file is read."""
    if far is not None and not 0 < far < 1:
        raise typer.BadParameter(
            f"must be a fraction above 0 and below 1, such as 0.01 for 1 %. Received {far:g}."
        )
    return far


def _check_positive(seconds):
    """Checks a duration before any file is read."""
    if seconds is not None and not 0 < seconds < math.inf:
        raise typer.BadParameter(f"must be a positive number of seconds. Received {seconds:g}.")
    return seconds


def run(
    gallery: _options.Gallery,
    folder: Annotated[
        str | None,
        typer.Argument(
            help="Recordings as FOLDER/PERSON/FILES or FOLDER/PERSON/SESSION/FILES, or a csv with "
            "the columns path and person.",
            show_default=False,
            autocompletion=_completion.complete_paths,
        ),
    ] = None,
    far: Annotated[
        float,
        typer.Option(
            "--far",
            metavar="RATE",
            help="Target false accept rate for these people. With --window, the target is the "
            "average rate for new people.",
            callback=_check_fraction,
        ),
    ] = 0.01,
    extrapolate: Annotated[
        bool,
        typer.Option(
            "--extrapolate",
            help="Extrapolate a threshold that is stricter than the number of people supports. "
            "Its false accept rate is not guaranteed.",
        ),
    ] = False,
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups",
            metavar="FILE",
            help="Also print the false accept rate within each group of people. FILE is a csv with "
            "the columns person and group. A group is, for example, an age or a sensor.",
            show_default=False,
            autocompletion=_completion.complete_paths,
        ),
    ] = None,
    window: Annotated[
        float | None,
        typer.Option(
            "--window",
            metavar="SECONDS",
            help="Set the threshold of `keras-dml listen`, not of the other commands. `keras-dml "
            "listen` then makes its first decision after this time.",
            show_default=False,
            callback=_check_positive,
        ),
    ] = None,
    remove: Annotated[
        float | None,
        typer.Option(
            "--remove",
            metavar="RATE",
            help="Remove the threshold for this false accept rate. FOLDER must be left out.",
            show_default=False,
            callback=_check_fraction,
        ),
    ] = None,
    scoring: _options.Scoring = None,
    options: _options.GalleryOptions = _options.GalleryOptions(),
    as_json: _options.AsJson = False,
) -> None:
    """Set the threshold of a gallery for a false accept rate.

    The false accept rate is measured on the people in FOLDER. The printed interval is the likely
    range of the rate for the same number of other people. Use people whose recordings were not used
    to train the model. Use as many recordings per person as you enroll per person. With more
    recordings the nearest recording is closer, and false accepts rise. The command does not enroll
    these people.

    Five or more people may be too few for a rate of 10, 5 or 1 %. The command then adapts the
    threshold from the model's card to the distances of these people. In tests, this threshold
    kept the rate in about nine of ten groups of people. The command refuses other rates that are
    too small for the number of people, and prints how many people the rate needs.

    If people have several sessions, true claims compare only recordings of different sessions. With
    --groups, the command also prints the false accept rate within each group. All groups have the
    same threshold.

    With --window, the command sets the decision threshold of `keras-dml listen`. Use recordings
    that are as long as the longest claim.

    A gallery stores one threshold for each rate. Without --far, decisions use the threshold for the
    smallest rate. If this threshold was extrapolated, each decision contains a note. Use --remove
    to remove a threshold.

    Exit status: 0 if the threshold is set or removed, 2 if not.

    Example: keras-dml calibrate family.db volunteers/ --far 0.01
    """
    if (folder is None) == (remove is None):
        raise typer.BadParameter(
            "Give either FOLDER to set a threshold or --remove RATE to remove a threshold."
        )
    if remove is not None:
        if extrapolate or groups is not None or window is not None:
            raise typer.BadParameter(
                "--remove cannot be combined with --extrapolate, --groups or --window."
            )
        _remove(gallery, remove, options.access, as_json=as_json)
        return
    if groups is not None and window is not None:
        raise typer.BadParameter("--groups cannot be combined with --window.")
    from keras_dml import recordings
    from keras_dml.cli import _answers, _console, _galleries

    with _answers.spell_messages():
        listing = recordings.folder(folder)
        group_by_person = None if groups is None else _read_groups(groups, folder, listing.people)
        with _galleries.open_gallery(
            gallery,
            options.model,
            options.access,
            engine=options.engine,
            may_be_new=True,
            scoring=scoring,
        ) as opened_gallery:
            reader = _galleries.Reader(opened_gallery, options.reading)
            values, entries, refused = _galleries.read_listing(reader, listing)
            people = [entry.person for entry in entries]
            sessions = [entry.session for entry in entries]
            before = opened_gallery.deciding
            if window is None:
                threshold = opened_gallery.calibrate(
                    values,
                    people,
                    far,
                    sessions=sessions,
                    groups=group_by_person,
                    extrapolate=extrapolate,
                )
            else:
                steps = reader.steps(window)
                for entry, recording in zip(entries, values, strict=True):
                    if len(recording) < steps:
                        raise ValueError(
                            f"{entry.path} lasts {reader.duration(len(recording))}, which is less "
                            f"than --window {window:g}. Leave this file out, or give a shorter "
                            "--window."
                        )
                threshold = opened_gallery.calibrate_listening(
                    values, people, far, window=steps, sessions=sessions
                )
    if as_json:
        answer = {**dataclasses.asdict(threshold), "left_out": len(refused), "notes": reader.notes}
        if window is None:
            answer["groups"] = [group._asdict() for group in threshold.groups]
        _console.print_json(answer)
    else:
        _console.echo(_console.escape_lines(threshold))
    is_first = window is None and before is not None and before.provisional
    if is_first and threshold.value > before.value:
        _console.note(
            "Note: decisions without --far now use this threshold. They are less strict than "
            "before, because the threshold from the model's card is smaller. It was set for a "
            f"false accept rate of {100 * before.far:g} %. Calibrate with a smaller --far for "
            "stricter decisions."
        )


def _remove(path, far, access, *, as_json):
    """Removes the threshold for a rate, and prints which threshold later decisions use."""
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console, _galleries

    with _answers.spell_messages(_options.GALLERY_NAMES | {"far": "--remove"}):
        _galleries.check_exists(path)
        galleries.remove_threshold(path, far, **vars(access))
        left = list(galleries.thresholds(path, **vars(access)))
    if as_json:
        _console.print_json({"removed": far, "left": left})
        return
    now = "No threshold is left."
    if left:
        now = f"Without --far, decisions use FAR {100 * min(left):g} %."
    _console.echo(f"The threshold for FAR {100 * far:g} % is removed. {now}")


def _read_groups(path, folder, people):
    """Reads a table with the group of each person, and returns `{person: group}`.

    The table and the folder must contain the same people.
    """
    from keras_dml import recordings

    group_by_person = recordings.groups(path)
    if missing := [name for name in people if name not in group_by_person]:
        raise ValueError(
            f"{path} has no group for {len(missing)} of the {len(people)} people in {folder}, "
            f"such as {missing[0]!r}. Add a line for each person."
        )
    if unknown := [name for name in group_by_person if name not in people]:
        raise ValueError(
            f"{path} names {len(unknown)} people who have no recordings in {folder}, such as "
            f"{unknown[0]!r}. Use the names of the folder, or remove these lines."
        )
    return group_by_person
