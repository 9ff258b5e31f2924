"""Implements the command `keras-dml proposals GALLERY`, which lists recordings that are proposed as
templates and applies the decision of a person.
"""

from typing import Annotated

import typer

from keras_dml.cli import _keeping, _options, _statuses


def run(
    gallery: _options.Gallery,
    recordings: _keeping.Ids = None,
    is_accepting: Annotated[
        bool, typer.Option("--accept", help="Add the proposed recordings with these ids.")
    ] = False,
    is_undoing: Annotated[
        bool,
        typer.Option("--undo", help="Remove recordings with these ids that proposals added."),
    ] = False,
    is_destroying: _keeping.Destroy = False,
    keep: _keeping.Keep = None,
    is_ending: _keeping.Off = False,
    model: _options.GalleryModel = None,
    access: _options.Access = _options.Access(),
    engine: _options.Engine = None,
    as_json: _options.AsJson = False,
) -> None:
    """List, add or destroy recordings that are proposed as templates of enrolled people.

    Nothing is proposed until you use --keep. Then `keras-dml verify`, `identify` and `serve` keep
    the embedding of an accepted recording if its distance is far enough below the threshold, and if
    no recording of the person is from that day. The gallery must be an encrypted file. Nothing is
    enrolled until you use --accept. A recording is refused if it would accept too many recordings
    of other people. Use --undo to remove a recording that was added.

    Exit status: 0 if the command is done, 1 if a proposal is refused, 2 after an error.

    Example: keras-dml proposals family.db --key family.key --keep 30
    """
    actions = {"--accept": is_accepting, "--undo": is_undoing, "--destroy": is_destroying}
    _keeping.check_options(recordings, actions, keep, is_ending)
    from keras_dml.cli import _answers, _console, _galleries

    refused, enrolled, repeated = {}, [], []
    with _answers.spell_messages():
        with _galleries.open_gallery(gallery, model, access, engine=engine) as opened_gallery:
            proposals = opened_gallery.proposals
            _keeping.set_days(proposals, keep, is_ending)
            if is_accepting:
                proposals.check(recordings)
            for recording in dict.fromkeys(recordings or ()):
                if is_accepting:
                    result = proposals.accept(recording)
                    if result.refused:
                        refused[recording] = result.refused[0]
                    elif result.kept:
                        enrolled.append(recording)
                    else:
                        repeated.append(recording)
                elif is_undoing:
                    proposals.undo(recording)
            if is_destroying:
                proposals.destroy(recordings)
            pending, days = proposals.list(), proposals.days
    if as_json:
        fields = {"days": days, "proposals": [each._asdict() for each in pending]}
        _console.print_json(fields | {"added": enrolled, "repeated": repeated, "refused": refused})
    else:
        for recording in enrolled:
            _console.echo(f"{recording}: added")
        for recording in repeated:
            _console.echo(f"{recording}: already enrolled, so it is not proposed any more")
        for recording, reason in refused.items():
            _console.echo(_console.escape(f"{recording}: refused: {reason}"))
        if pending:
            rows = [(each.id, each.person, each.created, each.expires) for each in pending]
            _console.print_table(("id", "person", "recorded", "destroyed at"), rows)
        else:
            _console.echo(f"No recording is proposed. {_keeping.in_words(days)}")
    _statuses.exit_with_answer(not refused)
