"""Implements the command `keras-dml strangers GALLERY`, which lists recordings of unknown people,
and names or destroys them.
"""

from typing import Annotated

import typer

from keras_dml.cli import _keeping, _options, _statuses


def run(
    gallery: _options.Gallery,
    strangers: _keeping.Ids = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="PERSON",
            help="Enroll the strangers with these ids as one person.",
            show_default=False,
        ),
    ] = None,
    is_destroying: _keeping.Destroy = False,
    keep: _keeping.Keep = None,
    is_ending: _keeping.Off = False,
    model: _options.GalleryModel = None,
    access: _options.Access = _options.Access(),
    engine: _options.Engine = None,
    as_json: _options.AsJson = False,
) -> None:
    """List recordings of unknown people in groups, and enroll or destroy groups.

    Nothing is kept until you use --keep. Then `keras-dml identify` and `serve` keep the embedding
    of a recording if no enrolled person is near enough. The gallery must be an encrypted file.
    Recordings belong to one group if their distances are within the threshold. In many countries,
    people must agree before their biometric data are stored.

    Exit status: 0 if the command is done, 1 if a recording is not enrolled, 2 after an error.

    Example: keras-dml strangers family.db --key family.key --keep 7
    """
    actions = {"--name": name is not None, "--destroy": is_destroying}
    _keeping.check_options(strangers, actions, keep, is_ending)
    from keras_dml import _figures
    from keras_dml.cli import _answers, _console, _galleries

    refused, enrolled, repeated, destroyed = [], 0, 0, 0
    with _answers.spell_messages():
        with _galleries.open_gallery(gallery, model, access, engine=engine) as opened_gallery:
            inbox = opened_gallery.strangers
            _keeping.set_days(inbox, keep, is_ending)
            for stranger in dict.fromkeys(strangers or ()) if name is not None else ():
                result = inbox.name(stranger, name)
                enrolled += len(result.kept)
                repeated += len(result.repeated)
                refused += result.refused.values()
            if is_destroying:
                destroyed = inbox.destroy(dict.fromkeys(strangers))
            groups, days = inbox.list(), inbox.days
    if as_json:
        fields = {"days": days, "strangers": [_as_json(group) for group in groups]}
        counts = {"enrolled": enrolled, "repeated": repeated, "destroyed": destroyed}
        _console.print_json(fields | counts | {"refused": refused})
    else:
        if enrolled:
            count = _figures.counted(enrolled, "recording")
            _console.echo(_console.escape(f"{name}: {count} enrolled"))
        if repeated:
            count = _figures.counted(repeated, "recording")
            _console.echo(_console.escape(f"{name}: {count} already enrolled"))
        if destroyed:
            _console.echo(f"{_figures.counted(destroyed, 'recording')} destroyed")
        for reason in refused:
            _console.echo(_console.escape(f"refused: {reason}"))
        if groups:
            columns = ("id", "recordings", "days", "first", "last", "destroyed from")
            rows = [
                (each.id, len(each.recordings), each.days, each.first, each.last, each.expires)
                for each in groups
            ]
            _console.print_table(columns, rows)
        else:
            _console.echo(f"No stranger is kept. {_keeping.in_words(days)}")
    _statuses.exit_with_answer(not refused)


def _as_json(group):
    """Converts a `Stranger` to an object for JSON."""
    return {
        "id": group.id,
        "recordings": list(group.recordings),
        "days": group.days,
        "first": group.first,
        "last": group.last,
        "expires": group.expires,
    }
