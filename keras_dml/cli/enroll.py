"""Implements the command `keras-dml enroll GALLERY PERSON FILES...` or `GALLERY FOLDER`, which
enrolls people.
"""

from typing import Annotated

import typer

from keras_dml.cli import _completion, _options, _statuses
from keras_dml.recordings import format_names

MOST_REFUSED = 3  # number of reasons printed if no file is enrolled; they are often the same


def run(
    gallery: _options.Gallery,
    person: Annotated[
        str,
        typer.Argument(
            metavar="PERSON|FOLDER",
            help="With FILES, the name of one person. Without FILES, a folder of people "
            "(FOLDER/PERSON/FILES or FOLDER/PERSON/SESSION/FILES), or a csv with the columns path "
            "and person.",
            show_default=False,
            autocompletion=_completion.complete_people_or_paths,
        ),
    ],
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"Recordings in {format_names()} files, or folders with recordings.",
            show_default=False,
            autocompletion=_completion.complete_paths,
        ),
    ] = None,
    scoring: _options.Scoring = None,
    options: _options.GalleryOptions = _options.GalleryOptions(),
    as_json: _options.AsJson = False,
) -> None:
    """Enroll recordings of a person, or of all people in a folder.

    If the gallery does not exist, the command creates it.

    The command refuses a recording if the model does not accept it, if its distance to the person's
    other recordings is above the threshold, or if it is enrolled as another person. The command
    prints the reasons, and enrolls the remaining recordings. If the person is new, the command
    enrolls the largest group of recordings whose distances are within the threshold. A recording
    that is given twice, or that is already enrolled, counts once.

    The gallery stores names, embeddings and thresholds, but no recordings. The gallery file is
    personal data. The gallery also stores the channels, the rate, the column of times and the units
    of the first enrollment. Later commands use these values by default.

    Exit status: 0 if all recordings are enrolled, 1 if some are refused, 2 if none is enrolled.

    Example: keras-dml enroll family.db alice alice/*.csv --model gait_qp_wl
    """
    if files:
        _enroll_person(gallery, person, files, scoring, options, as_json)
    else:
        _enroll_people(gallery, person, scoring, options, as_json)


def _enroll_person(gallery, person, files, scoring, options, as_json):
    """Enrolls files as one person, and prints the result for each file."""
    from keras_dml import _figures
    from keras_dml.cli import _answers, _console, _days, _galleries

    with _answers.spell_messages():
        paths = _galleries.find_files(files)  # before a new gallery is created
        _galleries.check_formats(paths)
        with _galleries.open_gallery(
            gallery,
            options.model,
            options.access,
            engine=options.engine,
            may_be_new=True,
            scoring=scoring,
        ) as opened_gallery:
            reader = _galleries.Reader(opened_gallery, options.reading)
            earlier = _days.earlier_dates(opened_gallery, [person])
            results = _galleries.read_recordings(reader, paths)
            days = _days.labels(paths, {})
            enrollment = _galleries.enrolled(opened_gallery, person, paths, results, days)
            if enrollment.kept:
                reader.remember()
                day = _days.single_day([paths[i] for i in enrollment.kept], earlier[person])
                _days.print_note({} if day is None else {person: day}, 1)
                opened_gallery.check_counts([person])
            state = opened_gallery.completeness(person) if enrollment.recordings else None
    if as_json:
        fields = {"person": person, **_as_json(enrollment, paths), "notes": reader.notes}
        fields["completeness"] = None if state is None else _answers.completeness(state)
        _console.print_json(fields)
    else:
        _console.echo(
            f"{_console.escape(person)}: {len(enrollment.kept)} of {len(paths)} files enrolled, "
            f"{_figures.counted(enrollment.recordings, 'recording')} in all"
        )
        _show_repeats(enrollment, paths)
        reasons = [reason for _, reason in sorted(enrollment.refused.items())]
        _show_refused(reasons, MOST_REFUSED if not enrollment.kept else len(reasons))
        if state is not None:
            _console.echo(_console.escape(str(state)))
    _end(len(enrollment.kept), len(enrollment.repeated), len(enrollment.refused))


def _enroll_people(gallery, folder, scoring, options, as_json):
    """Enrolls the people of a folder one after the other, and prints the result for each file."""
    from keras_dml import gallery as galleries
    from keras_dml import recordings
    from keras_dml.cli import _answers, _console, _days, _galleries

    stopped = (
        "Stopped. People whose files were all read are enrolled. Run the command again to enroll "
        "the remaining people. A recording that is already enrolled counts once."
    )
    with _console.stoppable(stopped), _answers.spell_messages():
        try:
            listing = recordings.folder(folder)
        except (FileNotFoundError, ValueError) as error:
            raise type(error)(
                f"{error} To enroll one person, also name files: keras-dml enroll "
                f"{galleries.hide_password(gallery)} PERSON FILES."
            ) from None
        with _galleries.open_gallery(
            gallery,
            options.model,
            options.access,
            engine=options.engine,
            may_be_new=True,
            scoring=scoring,
        ) as opened_gallery:
            reader = _galleries.Reader(opened_gallery, options.reading)
            earlier = _days.earlier_dates(opened_gallery, listing.people)
            people = _galleries.enroll_people(opened_gallery, reader, listing)
            enrolled_paths = {
                name: [paths[i] for i in each.kept]
                for name, (each, paths) in people.items()
                if each.kept
            }
            if enrolled_paths:
                reader.remember()
                sessions = {entry.path: entry.session for entry in listing.recordings}
                days = {
                    name: _days.single_day(paths, earlier[name], map(sessions.get, paths))
                    for name, paths in enrolled_paths.items()
                }
                _days.print_note(
                    {name: day for name, day in days.items() if day}, len(enrolled_paths)
                )
                opened_gallery.check_counts(enrolled_paths)
    enrolled = sum(len(each.kept) for each, _ in people.values())
    repeated = sum(len(each.repeated) for each, _ in people.values())
    refused = sum(len(each.refused) for each, _ in people.values())
    skipped = [str(path) for path in listing.skipped]
    if as_json:
        _console.print_json(
            {
                "people": {name: _as_json(each, paths) for name, (each, paths) in people.items()},
                "kept": enrolled,
                "repeated": repeated,
                "refused": refused,
                "left_out": skipped,
                "notes": reader.notes,
            }
        )
    else:
        rows = [
            (name, f"{len(each.kept)} of {len(paths)}", each.recordings)
            for name, (each, paths) in people.items()
        ]
        _console.print_table(("person", "files enrolled", "recordings in all"), rows)
        for each, paths in people.values():
            _show_repeats(each, paths)
        reasons = [
            reason for each, _ in people.values() for _, reason in sorted(each.refused.items())
        ]
        _show_refused(reasons, MOST_REFUSED if not enrolled_paths else len(reasons))
        for path in skipped:
            _console.echo(_console.escape(f"left out: {path} is not a recording"))
        present = sum(each.recordings > 0 for each, _ in people.values())
        _console.echo(
            f"{present} of {len(people)} people are enrolled. {enrolled} of "
            f"{len(listing.recordings)} files were enrolled now, and {refused} files were refused."
        )
    _end(enrolled, repeated, refused)


def _as_json(enrollment, paths):
    """Converts an `Enrolled` to an object for JSON."""
    return {
        "kept": [str(paths[i]) for i in enrollment.kept],
        "refused": {str(paths[i]): enrollment.refused[i] for i in sorted(enrollment.refused)},
        "repeated": {
            str(paths[i]): None if first is None else str(paths[first])
            for i, first in sorted(enrollment.repeated.items())
        },
        "enrolled": enrollment.recordings,
    }


def _show_repeats(enrollment, paths):
    """Lists files that are copies of another file or of an enrolled recording."""
    from keras_dml.cli import _console

    for i, first in sorted(enrollment.repeated.items()):
        reason = "enrolled already" if first is None else f"the same as {paths[first]}"
        _console.echo(_console.escape(f"counts once: {paths[i]} is {reason}"))


def _show_refused(reasons, most):
    """Prints why files were refused. At most `most` files are listed."""
    from keras_dml.cli import _console

    for reason in reasons[:most]:
        _console.echo(_console.escape(f"refused: {reason}"))
    if reasons[most:]:
        _console.echo(f"refused: {len(reasons[most:])} more files. Use --json to list all reasons.")


def _end(enrolled, repeated, refused):
    """Exits with status 0 if no file is refused, 1 if some files are refused, 2 if no file is
    enrolled."""
    if not enrolled and not repeated:
        raise typer.Exit(_statuses.ERROR)
    _statuses.exit_with_answer(not refused)
