"""Implements the command `keras-dml recordings GALLERY PERSON`, which lists the enrolled recordings
of a person.
"""

from keras_dml.cli import _options


def run(
    gallery: _options.Gallery,
    person: _options.Person,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
) -> None:
    """List the enrolled recordings of a person, with id, time of enrollment, day and device.

    The command needs no model. `keras-dml forget` removes recordings by their ids. A gallery does
    not store the names of files.

    Exit status: 0 if the recordings are listed, 2 if not.

    Example: keras-dml recordings family.db alice
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with _answers.spell_messages():
        stored = galleries.list_recordings(gallery, person, **vars(access))
    if as_json:
        entries = [
            {"id": each.id, "enrolled": each.created, **each.source._asdict()} for each in stored
        ]
        _console.print_json({"person": person, "recordings": entries})
    elif stored:
        rows = [
            (each.id, each.created, each.source.day, each.source.device, _origin(each.source))
            for each in stored
        ]
        _console.print_table(("id", "enrolled", "day", "device", "added by"), rows)
    else:
        _console.echo("No recording is enrolled.")


def _origin(source):
    return "proposal" if source.proposed else "enroll"
