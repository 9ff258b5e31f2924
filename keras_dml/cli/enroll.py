"""`keras-dml enroll GALLERY PERSON FILES...`: recordings of a person, stored as embeddings; and
`keras-dml enroll GALLERY FOLDER`: recordings of many people."""

from typing import Annotated

import typer

from keras_dml.cli import _completion, _options, _statuses
from keras_dml.recordings import format_names

MOST_REFUSED = 3  # files whose reasons are printed if no file is enrolled: it is often one reason


def run(
    gallery: _options.Gallery,
    person: Annotated[
        str,
        typer.Argument(
            metavar="PERSON|FOLDER",
            help="Name of a person. Without FILES: a folder of people, FOLDER/PERSON/FILES or "
            "FOLDER/PERSON/SESSION/FILES, or a csv with the columns path, person.",
            show_default=False,
            autocompletion=_completion.people_or_paths,
        ),
    ],
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"Recordings: {format_names()} files, or folders of them.",
            show_default=False,
            autocompletion=_completion.paths,
        ),
    ] = None,
    options: _options.GalleryOptions = _options.GalleryOptions(),
    as_json: _options.AsJson = False,
):
    """Enroll recordings of a person, or of a folder of people, in a gallery, which is made if there
    is none.

    A recording is refused, with the reason, if the model does not take it, or if it is further from
    the person's others than the thresholds allow; of somebody new the largest group that is so near
    to each other is enrolled. A recording that is given twice or enrolled already counts once; one
    that is enrolled as somebody else is refused. A refused recording does not affect the others.
    The file of a gallery holds names, embeddings and thresholds, no recordings: personal data all
    the same. The gallery remembers the channels, the rate, the column of times and the units of its
    first enrollment, and later commands read files alike unless an option says otherwise.

    Exit status: 0 all are enrolled, now or before, 1 some were refused, 2 none is enrolled.

    Example: keras-dml enroll family.db alice alice/*.csv --model gait_qp_wl
    """
    if files:
        _enroll_person(gallery, person, files, options, as_json)
    else:
        _enroll_people(gallery, person, options, as_json)


def _enroll_person(gallery, person, files, options, as_json):
    """Enrolls files as one person, and prints what became of them."""
    from keras_dml.cli import _answers, _console, _days, _galleries

    with _answers.answered():
        paths = _galleries.files(files)  # before a gallery is made for them
        _galleries.check_kinds(paths)
        with _galleries.opened(gallery, options.model, options.access, may_be_new=True) as opened:
            reader = _galleries.Reader(opened, options.reading)
            earlier = _days.earlier_dates(opened, [person])
            taken = _galleries.taken(reader, paths)
            enrollment = _galleries.enrolled(opened, person, paths, taken)
            if enrollment.kept:
                reader.remember()
                day = _days.of_one_day([paths[i] for i in enrollment.kept], earlier[person])
                _days.note({} if day is None else {person: day}, 1)
                opened.check_counts([person])
    if as_json:
        fields = {"person": person, **_as_json(enrollment, paths), "notes": reader.notes}
        _console.json_object(fields)
    else:
        _console.echo(
            f"{_console.plain(person)}: {len(enrollment.kept)} of {len(paths)} files enrolled, "
            f"{enrollment.recordings} recordings in all"
        )
        _show_repeats(enrollment, paths)
        reasons = [reason for _, reason in sorted(enrollment.refused.items())]
        _show_refused(reasons, MOST_REFUSED if not enrollment.kept else len(reasons))
    _end(len(enrollment.kept), len(enrollment.repeated), len(enrollment.refused))


def _enroll_people(gallery, folder, options, as_json):
    """Enrolls the people of a folder one after the other, and prints what became of their files."""
    from keras_dml import gallery as galleries
    from keras_dml import recordings
    from keras_dml.cli import _answers, _console, _days, _galleries

    stopped = (
        "Stopped. People whose files were all read are enrolled. The same command enrolls the "
        "others: a recording that is enrolled already counts once."
    )
    with _console.stoppable(stopped), _answers.answered():
        try:
            listing = recordings.folder(folder)
        except (FileNotFoundError, ValueError) as error:
            raise type(error)(
                f"{error} To enroll one person give files too: keras-dml enroll "
                f"{galleries.hide_password(gallery)} PERSON FILES."
            ) from None
        with _galleries.opened(gallery, options.model, options.access, may_be_new=True) as opened:
            reader = _galleries.Reader(opened, options.reading)
            earlier = _days.earlier_dates(opened, listing.people)
            people = _galleries.enrolled_people(opened, reader, listing)
            kept = {
                name: [paths[i] for i in each.kept]
                for name, (each, paths) in people.items()
                if each.kept
            }
            if kept:
                reader.remember()
                sessions = {entry.path: entry.session for entry in listing.recordings}
                days = {
                    name: _days.of_one_day(paths, earlier[name], map(sessions.get, paths))
                    for name, paths in kept.items()
                }
                _days.note({name: day for name, day in days.items() if day}, len(kept))
                opened.check_counts(kept)
    enrolled = sum(len(each.kept) for each, _ in people.values())
    repeated = sum(len(each.repeated) for each, _ in people.values())
    refused = sum(len(each.refused) for each, _ in people.values())
    skipped = [str(path) for path in listing.skipped]
    if as_json:
        _console.json_object(
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
        _console.table(("person", "files enrolled", "recordings in all"), rows)
        for each, paths in people.values():
            _show_repeats(each, paths)
        reasons = [
            reason for each, _ in people.values() for _, reason in sorted(each.refused.items())
        ]
        _show_refused(reasons, MOST_REFUSED if not kept else len(reasons))
        for path in skipped:
            _console.echo(_console.plain(f"left out: {path} is not a recording"))
        present = sum(each.recordings > 0 for each, _ in people.values())
        _console.echo(
            f"{present} of {len(people)} people are enrolled, by {enrolled} of "
            f"{len(listing.recordings)} files now; {refused} files were refused"
        )
    _end(enrolled, repeated, refused)


def _as_json(enrollment, paths):
    """Returns the fields of an `_galleries.Enrolled` that programs get."""
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
    """Prints the files that count once."""
    from keras_dml.cli import _console

    for i, first in sorted(enrollment.repeated.items()):
        reason = "enrolled already" if first is None else f"the same as {paths[first]}"
        _console.echo(_console.plain(f"counts once: {paths[i]} is {reason}"))


def _show_refused(reasons, most):
    """Prints why files were refused, at most a number of them."""
    from keras_dml.cli import _console

    for reason in reasons[:most]:
        _console.echo(_console.plain(f"refused: {reason}"))
    if reasons[most:]:
        _console.echo(f"refused: {len(reasons[most:])} more files; --json has the reason of each")


def _end(enrolled, repeated, refused):
    """Ends the command with the status of its numbers of files."""
    if not enrolled and not repeated:
        raise typer.Exit(_statuses.ERROR)
    _statuses.answer(not refused)
