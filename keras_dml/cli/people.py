"""Implements the command `keras-dml people GALLERY`, which lists the enrolled people."""

from keras_dml.cli import _options


def run(
    gallery: _options.Gallery,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
) -> None:
    """List the people of a gallery, with the numbers of recordings and days of each person.

    The command also advises what to record next. With --json, it prints the numbers of recordings.

    Exit status: 0 if the people are listed, 2 if not.

    Example: keras-dml people family.db
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with _answers.spell_messages():
        states = galleries.states(gallery, **vars(access))
    if as_json:
        _console.print_json({name: state.recordings for name, state in states.items()})
    elif states:
        rows = [
            (name, state.recordings, len(state.days), state.advice or "complete")
            for name, state in states.items()
        ]
        _console.print_table(("person", "recordings", "days", "advice"), rows)
    else:
        _console.echo("Nobody is enrolled.")
